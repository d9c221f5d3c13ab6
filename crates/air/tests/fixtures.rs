//! What our own fixtures must become: one module per clang version, one in Apple's dialect.

use assay_air::{GivenConstant, Options, kernel_names, llvm, lower};
use assay_ssa::{Binding, Builtin, Callee, InstData, LoopHint, Module, Space, TypeKind};

const CLANG: [(u32, &[u8]); 6] = [
    (17, include_bytes!("fixtures/clang-17.bc")),
    (18, include_bytes!("fixtures/clang-18.bc")),
    (19, include_bytes!("fixtures/clang-19.bc")),
    (20, include_bytes!("fixtures/clang-20.bc")),
    (21, include_bytes!("fixtures/clang-21.bc")),
    (22, include_bytes!("fixtures/clang-22.bc")),
];

const APPLE: &[u8] = include_bytes!("fixtures/apple.bc");

fn program(bitcode: &[u8], options: &Options) -> Module {
    let modules = llvm::read(bitcode).expect("a well-formed module");
    assert_eq!(modules.len(), 1);
    let program = lower(&modules[0], options).expect("a module that can be lowered");
    if let Err(errors) = assay_ssa::verify(&program) {
        panic!("{}\n{}", errors[0], assay_ssa::print(&program));
    }
    program
}

/// All instructions of a kernel's function.
fn instructions<'p>(program: &'p Module, kernel: &str) -> Vec<&'p InstData> {
    let kernel = program.kernel(kernel).expect("the kernel");
    let function = &program.functions[kernel.function];
    function
        .all_insts()
        .map(|inst| function.inst(inst))
        .collect()
}

fn calls(program: &Module, kernel: &str, wanted: Builtin) -> usize {
    let is_call = |data: &&&InstData| matches!(data, InstData::Call { callee: Callee::Builtin(call), .. } if call.builtin == wanted);
    instructions(program, kernel).iter().filter(is_call).count()
}

#[test]
fn every_clang_gives_the_same_kernels_and_arguments() {
    for (major, bitcode) in CLANG {
        let module = llvm::read(bitcode).expect("a module").remove(0);
        assert!(
            module.producer.contains(&major.to_string()),
            "{}",
            module.producer
        );
        assert_eq!(
            kernel_names(&module),
            ["saxpy", "row_sum", "specialised_f32", "matmul8"],
            "clang {major}"
        );
        let program = program(bitcode, &Options::default());
        let saxpy = program.kernel("saxpy").expect("saxpy");
        assert_eq!(saxpy.max_threads, Some(256));
        let names: Vec<_> = saxpy
            .arguments
            .iter()
            .map(|a| (a.name.as_str(), a.param))
            .collect();
        let expected = [("x", Some(0)), ("y", Some(1)), ("n", Some(2)), ("i", None)];
        assert_eq!(names, expected, "clang {major}");
        assert_eq!(saxpy.arguments[2].buffer_size, Some(4));
        assert_eq!(
            saxpy.arguments[3].binding,
            Binding::Builtin(Builtin::ThreadPositionInGrid)
        );
        let condition = &program.kernel("specialised_f32").expect("kernel").arguments[2].condition;
        assert_eq!(condition.as_deref(), Some("has_bias"));
    }
}

#[test]
fn every_pointer_of_every_clang_has_its_space() {
    for (major, bitcode) in CLANG {
        let program = program(bitcode, &Options::default());
        for (_, function) in program.functions.iter() {
            for &block in function.blocks() {
                for &inst in function.insts(block) {
                    let generic = TypeKind::Pointer(Space::Generic);
                    assert_ne!(function.result_type(inst).kind(), generic, "clang {major}");
                }
            }
        }
    }
}

#[test]
fn collectives_matrices_and_unknown_builtins_survive_every_clang() {
    for (major, bitcode) in CLANG {
        let program = program(bitcode, &Options::default());
        let count = |kernel, builtin| calls(&program, kernel, builtin);
        assert_eq!(
            count("row_sum", Builtin::ThreadgroupBarrier),
            1,
            "clang {major}"
        );
        assert_eq!(count("row_sum", Builtin::SimdSum), 1, "clang {major}");
        assert_eq!(
            count("matmul8", Builtin::MatrixMultiplyAdd),
            1,
            "clang {major}"
        );
        assert_eq!(count("matmul8", Builtin::MatrixLoad), 2, "clang {major}");
        assert_eq!(count("matmul8", Builtin::MatrixStore), 1, "clang {major}");
        let unknown: Vec<_> = program
            .symbols
            .iter()
            .map(|(_, name)| name.as_str())
            .collect();
        assert_eq!(unknown, ["air.frobnicate.f32"], "clang {major}");
        let atomics = instructions(&program, "specialised_f32");
        let adds = atomics
            .iter()
            .filter(|data| matches!(data, InstData::AtomicRmw { .. }))
            .count();
        let exchanges = |data: &&&InstData| matches!(data, InstData::AtomicCompareExchange { .. });
        assert_eq!(
            (adds, atomics.iter().filter(exchanges).count()),
            (1, 1),
            "clang {major}"
        );
    }
}

#[test]
fn instructions_know_their_source_lines() {
    for (major, bitcode) in CLANG {
        let program = program(bitcode, &Options::default());
        let (mut with, mut all) = (0, 0);
        for (_, function) in program.functions.iter() {
            for inst in function.all_insts() {
                all += 1;
                let line = function.loc(inst).and_then(|loc| {
                    program
                        .locations
                        .resolve(loc, |file| file == "/src/kernels.cpp")
                });
                with += usize::from(line.is_some());
            }
        }
        assert!(with * 100 >= all * 95, "clang {major}: {with} of {all}");
    }
}

#[test]
fn given_function_constants_take_the_place_of_open_ones() {
    let given = |text: &str| text.parse::<GivenConstant>().expect("a constant");
    let options = Options {
        kernel: Some("specialised_f32".to_owned()),
        constants: vec![given("3=bool:true"), given("steps=int:5")],
        ..Options::default()
    };
    for (major, bitcode) in CLANG {
        let open = program(bitcode, &Options::default());
        let closed = program(bitcode, &options);
        let text = |program: &Module| assay_ssa::print(program);
        assert!(
            text(&open).contains("i8 c0") && text(&open).contains("i32 c1"),
            "clang {major}"
        );
        assert!(!text(&closed).contains("i8 c0") && !text(&closed).contains("i32 c1"));
        assert_eq!(closed.kernels.len(), 1, "clang {major}");
        assert!(text(&closed).contains("i32 5"), "clang {major}");
    }
}

#[test]
fn open_function_constants_may_be_zero_and_are_still_not_given() {
    let options = Options {
        open_is_zero: true,
        ..Options::default()
    };
    for (major, bitcode) in CLANG {
        let text = assay_ssa::print(&program(bitcode, &options));
        assert!(
            !text.contains("i8 c0") && !text.contains("i32 c1"),
            "clang {major}"
        );
    }
}

#[test]
fn a_function_constant_of_the_wrong_type_is_refused() {
    let options = Options {
        constants: vec!["has_bias=float:1".parse().expect("a constant")],
        ..Options::default()
    };
    let module = llvm::read(APPLE).expect("a module").remove(0);
    let error = lower(&module, &options).expect_err("a float is no bool");
    let expected = "function constant 3 \"has_bias\" is i8, the value given is f32";
    assert_eq!(error.to_string(), expected);
}

/// The whole of a module in Apple's dialect, as text. `BLESS=1` rewrites the expectation.
#[test]
fn apples_dialect_becomes_the_program_form() {
    let text = assay_ssa::print(&program(APPLE, &Options::default()));
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/apple.ssa");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &text).expect("the expectation is writable");
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text, expected, "run with BLESS=1 if the new text is right");
}

#[test]
fn sixty_four_elements_become_two() {
    let program = program(APPLE, &Options::default());
    assert_eq!(calls(&program, "multiply", Builtin::MatrixMultiplyAdd), 1);
    let data = instructions(&program, "multiply");
    // Two elements are inserted; the third insertion and both padding shuffles are gone.
    let insertions = data
        .iter()
        .filter(|data| matches!(data, InstData::Insert { .. }))
        .count();
    assert_eq!(insertions, 2);
    assert!(
        !data
            .iter()
            .any(|data| matches!(data, InstData::Shuffle { .. }))
    );
}

#[test]
fn an_unroll_pragma_lands_on_the_loops_header() {
    let program = program(APPLE, &Options::default());
    let function = &program.functions[program.kernels[0].function];
    let hints: Vec<_> = function
        .blocks()
        .iter()
        .map(|&block| function.block(block).loop_hint)
        .collect();
    assert_eq!(
        hints,
        [LoopHint::None, LoopHint::UnrollCount(2), LoopHint::None]
    );
}

//! Runs the files under `tests/filetests`.
//!
//! A file is a module in the text form. Its first line names the passes to run, in order:
//! `; test inline_calls simplify_cfg`. After the module, lines starting with `;>` hold what
//! must come out; the word `structurize` prints the control tree instead of the module.
//! `BLESS=1 cargo test -p assay-opt --test filetests` writes them anew.

use assay_opt::{
    inline_calls::inline_calls,
    pass,
    structurize::structurize,
    unfold_recursion::{Depth, unfold_recursion},
};
use assay_ssa::{Module, VerifyError, parse, print, verify};
use std::path::{Path, PathBuf};

fn complaints(errors: &[VerifyError]) -> String {
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn run(passes: &str, source: &str) -> Result<String, String> {
    let mut module = parse(source).map_err(|error| format!("error at {error}\n"))?;
    verify(&module).map_err(|errors| complaints(&errors))?;
    for name in passes.split_whitespace() {
        if name == "structurize" {
            return Ok(trees(&module));
        }
        match (name, pass::by_name(name)) {
            ("inline_calls", _) => {
                inline_calls(&mut module).map_err(|error| format!("{error}\n"))?;
            }
            ("unfold_recursion", _) => {
                unfold_recursion(&mut module, Depth::OPTIMISED);
            }
            (_, Some(pass)) => {
                pass::run(&mut module, pass);
            }
            _ => return Err(format!("no pass named {name}\n")),
        }
        verify(&module).map_err(|errors| format!("after {name}:\n{}", complaints(&errors)))?;
    }
    Ok(print(&module))
}

fn trees(module: &Module) -> String {
    let functions = module.functions.iter();
    functions
        .map(|(_, function)| match structurize(function) {
            Ok(tree) => format!("{}:\n{}", function.name, tree.to_text()),
            Err(error) => format!("{}: {error}\n", function.name),
        })
        .collect()
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of file tests")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ssa"))
        .collect();
    files.sort();
    files
}

fn lines(text: &str, keep: impl Fn(&str) -> bool) -> String {
    text.lines()
        .filter(|line| keep(line))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn files_give_what_they_say() {
    let bless = std::env::var_os("BLESS").is_some();
    let mut failures = String::new();
    let files = files();
    assert!(files.len() > 3, "file tests are missing");
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let passes = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("; test "));
        let source = lines(&text, |line| !line.starts_with(";>"));
        let expected = lines(&text, |line| line.starts_with(";>"));
        let out = run(passes.unwrap_or("?"), &source).unwrap_or_else(|error| error);
        let actual: String = out
            .lines()
            .map(|line| format!(";> {line}").trim_end().to_owned() + "\n")
            .collect();
        if actual == expected {
            continue;
        }
        if bless {
            let blessed = format!("{}\n\n{actual}", source.trim_end());
            std::fs::write(&path, blessed).expect("a writable file");
        } else {
            failures += &format!(
                "{}:\n--- expected\n{expected}--- found\n{actual}",
                path.display()
            );
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The work of passes must grow with the program, not with its square.
#[cfg(debug_assertions)]
mod growth {
    use assay_opt::pass;
    use assay_ssa::id::lookups;
    use assay_ssa::{Module, parse};
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::cell::Cell;
    use std::fmt::Write;

    /// A kernel of `count` pieces: loads and stores of device and thread memory, a condition and a loop each.
    fn program(count: usize) -> Module {
        let mut text = "module \"m\"\nkernel \"k\" f0 {\n}\nfunction f0 \"k\" -> void {\n\
            b0(v0: ptr.device, v1: i32, v2: i1):\n\
            v3: ptr.thread = alloca i32 align 4\n"
            .to_owned();
        let (mut value, mut block) = (4, 1);
        for piece in 0..count {
            let v = |more: usize| format!("v{}", value + more);
            let b = |more: usize| format!("b{}", block + more);
            let _ = write!(
                text,
                "{}: i32 = add v1, i32 {piece}\n{}: ptr.device = ptr_add v0 + {} * 4\n\
                 {}: i32 = load {} align 4\n{}: i32 = mul {}, v1\nstore v3, {} align 4\n\
                 branch v2, {}, {}\n{}:\nstore {}, {} align 4\njump {}\n{}:\n\
                 {}: i32 = load v3 align 4\njump {}(i32 0)\n",
                v(0),
                v(1),
                v(0),
                v(2),
                v(1),
                v(3),
                v(2),
                v(3),
                b(0),
                b(1),
                b(0),
                v(1),
                v(3),
                b(1),
                b(1),
                v(4),
                b(2)
            );
            let _ = write!(
                text,
                "{}({}: i32):\n{}: i32 = add {}, i32 1\n{}: ptr.device = ptr_add v0 + {} * 4\n\
                 store {}, {} align 4\n{}: i1 = icmp ult {}, v1\nbranch {}, {}({}), {}\n{}:\n",
                b(2),
                v(5),
                v(6),
                v(5),
                v(7),
                v(5),
                v(7),
                v(4),
                v(8),
                v(6),
                v(8),
                b(2),
                v(6),
                b(3),
                b(3)
            );
            value += 9;
            block += 4;
        }
        text += "return\n}\n";
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A kernel of `count` loops of four rounds each, whose last value is used behind them.
    fn loops(count: usize) -> Module {
        let mut text = "module \"m\"\nkernel \"k\" f0 {\n}\nfunction f0 \"k\" -> void {\n\
            b0(v0: ptr.device, v1: i32):\njump b1(i32 0)\n"
            .to_owned();
        for piece in 0..count {
            let (v, b) = (2 + 5 * piece, 1 + 2 * piece);
            let _ = write!(
                text,
                "b{b}(v{v}: i32):\nv{}: i32 = add v{v}, i32 1\nv{}: ptr.device = ptr_add v0 + v{v} * 4\n\
                 store v{}, v1 align 4\nv{}: i1 = icmp ult v{}, i32 4\nbranch v{}, b{b}(v{}), b{}\n\
                 b{}:\nv{}: ptr.device = ptr_add v0 + v{} * 8\nstore v{}, v{} align 4\njump b{}{}\n",
                v + 1,
                v + 2,
                v + 2,
                v + 3,
                v + 1,
                v + 3,
                v + 1,
                b + 1,
                b + 1,
                v + 4,
                v + 1,
                v + 4,
                v + 1,
                b + 2,
                if piece + 1 < count { "(i32 0)" } else { "" },
            );
        }
        let _ = write!(text, "b{}:\nreturn\n}}\n", 1 + 2 * count);
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A kernel that calls a function `count` times, which calls another one.
    fn calls(count: usize) -> Module {
        let mut text = "module \"m\"\nkernel \"k\" f0 {\n}\nfunction f0 \"k\" -> void {\n\
            b0(v0: ptr.device, v1: i32):\n"
            .to_owned();
        for v in 1..=count {
            let _ = writeln!(text, "v{}: i32 = call f1(v{v})", v + 1);
        }
        let _ = write!(
            text,
            "store v0, v{} align 4\nreturn\n}}\n\
             function f1 \"twice\" -> i32 {{\nb0(v0: i32):\n\
             v1: i32 = call f2(v0)\nv2: i32 = call f2(v1)\nreturn v2\n}}\n\
             function f2 \"square\" -> i32 {{\nb0(v0: i32):\nv1: i32 = mul v0, v0\nreturn v1\n}}\n",
            count + 1
        );
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A kernel of `count` variables, each of which is set under a condition and read behind it.
    fn variables(count: usize) -> Module {
        let mut text = "module \"m\"\nkernel \"k\" f0 {\n}\nfunction f0 \"k\" -> void {\n\
            b0(v0: ptr.device, v1: i1):\n"
            .to_owned();
        for v in 2..2 + count {
            let _ = writeln!(text, "v{v}: ptr.thread = alloca i32 align 4");
        }
        for piece in 0..count {
            let (variable, b) = (2 + piece, 1 + 2 * piece);
            let _ = write!(
                text,
                "store v{variable}, i32 0 align 4\nbranch v1, b{b}, b{}\n\
                 b{b}:\nstore v{variable}, i32 {piece} align 4\njump b{}\n\
                 b{}:\nv{}: i32 = load v{variable} align 4\nstore v0, v{} align 4\n",
                b + 1,
                b + 1,
                b + 1,
                2 + count + piece,
                2 + count + piece,
            );
        }
        text += "return\n}\n";
        parse(&text).unwrap_or_else(|error| panic!("{error}"))
    }

    type Shape = fn(usize) -> Module;
    const SHAPES: [(&str, Shape); 4] = [
        ("pieces", program),
        ("loops", loops),
        ("calls", calls),
        ("variables", |count| variables(4 * count)),
    ];

    /// Counts the bytes that each thread asks for: tables of all variables for every block show in them.
    struct Counting;

    thread_local! {
        static BYTES: Cell<u64> = const { Cell::new(0) };
    }

    // SAFETY: every call goes to the system's allocator as it is.
    unsafe impl GlobalAlloc for Counting {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size() as u64));
            // SAFETY: the caller's promise is the system's requirement.
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
            // SAFETY: as above; the pointer came from `alloc`.
            unsafe { System.dealloc(ptr, layout) }
        }
    }

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    /// Lookups and bytes of memory that a run takes.
    fn work(shape: Shape, count: usize, run: &dyn Fn(&mut Module)) -> [f64; 2] {
        let mut module = shape(count);
        let (looked, asked) = (lookups(), BYTES.get());
        run(&mut module);
        [(lookups() - looked) as f64, (BYTES.get() - asked) as f64]
    }

    #[test]
    fn passes_do_no_more_than_n_log_n() {
        const COUNT: usize = 150;
        let mut wrong = Vec::new();
        let mut check = |name: &str, run: &dyn Fn(&mut Module)| {
            for (shape, make) in SHAPES {
                let (large, small) = (work(make, 2 * COUNT, run), work(make, COUNT, run));
                let kinds = ["lookups", "bytes"]
                    .into_iter()
                    .zip(large.into_iter().zip(small));
                for (kind, (large, small)) in kinds {
                    let growth = large / small.max(1.0);
                    // Twice the size times the growth of the logarithm, and a little. Tables are allocated by powers of two.
                    let most = if kind == "bytes" { 2.8 } else { 2.3 };
                    if growth > most {
                        wrong.push(format!(
                            "{name}, {shape}: {growth:.2} times the {kind} for twice the program"
                        ));
                    }
                }
            }
        };
        for (name, one) in pass::PASSES {
            check(name, &|module| {
                pass::run(module, *one);
            });
        }
        check("inline_calls", &|module| {
            let _ = assay_opt::inline_calls::inline_calls(module);
        });
        check("all of them", &|module| {
            let _ = assay_opt::pipeline::optimize(module);
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

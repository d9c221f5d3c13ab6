//! What constants of a program hold: the declarations of `constants/table.tsv`, run, emulated, checked, printed and
//! compiled again, and with function constants given late, against the values NumPy gives (`scripts/constant_table.py`).

#[allow(dead_code, reason = "other tests use the rest")]
mod judge;

use assay_front::{Checks, Clang, Form, GivenConstant, Library, OpenConstants, Request, Source};
use assay_front::{Kernel, SourceOptions};
use assay_ssa::Module;
use judge::inputs::Inputs;
use judge::load;
use std::fmt::Write;
use std::path::Path;

/// Rows a kernel reads.
const ROWS: usize = 12;

/// Values a kernel may write.
const VALUES: usize = 64;

const GIVEN: [&str; 4] = ["0=bool:1", "1=bool:0", "2=int:5", "3=float:2.5"];

const START: &str = "#include <metal_stdlib>
using namespace metal;
constant bool yes [[function_constant(0)]];
constant bool no [[function_constant(1)]];
constant int five [[function_constant(2)]];
constant float two_and_half [[function_constant(3)]];
constant int unset [[function_constant(4)]];
";

struct Row {
    declaration: &'static str,
    reads: Vec<&'static str>,
    values: Vec<f32>,
}

fn rows() -> Vec<Row> {
    let table = include_str!("constants/table.tsv").lines();
    let rows = table.map(|line| {
        let mut columns = line.split('\t');
        let mut next = || columns.next().expect("four columns");
        let (declaration, reads, _, values) = (next(), next(), next(), next());
        Row {
            declaration,
            reads: reads.split(';').map(str::trim).collect(),
            values: values
                .split(';')
                .map(|value| value.trim().parse().expect("a number"))
                .collect(),
        }
    });
    rows.collect()
}

/// A source with a kernel for every few rows.
fn source(rows: &[Row]) -> String {
    let mut text = START.to_owned();
    for (number, row) in rows.iter().enumerate() {
        let declaration = row.declaration;
        let _ = writeln!(text, "namespace row{number} {{ {declaration}");
        text.push_str("inline void read(device float* out, uint i) {");
        for (at, read) in row.reads.iter().enumerate() {
            let _ = write!(text, " out[{at}] = float({read});");
        }
        text.push_str(" } }\n");
    }
    for (group, rows_of) in rows.chunks(ROWS).enumerate() {
        let _ = writeln!(
            text,
            "kernel void k{group}(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {{"
        );
        let mut at = 0;
        for (index, row) in rows_of.iter().enumerate() {
            let number = group * ROWS + index;
            let _ = writeln!(text, "  row{number}::read(out + {at}, i);");
            at += row.reads.len();
        }
        text.push_str("}\n");
    }
    text
}

fn compiled(text: &str, checked: bool) -> Library {
    let cache = std::env::temp_dir().join("assay-judge-headers");
    let clang = Clang::new(load::compiler().expect("a clang").clone(), cache);
    let options = SourceOptions {
        checked,
        ..SourceOptions::default()
    };
    let source = Source {
        path: Path::new("constants.metal"),
        text: text.as_bytes(),
    };
    Library::compile(source, &clang, &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn given() -> Vec<GivenConstant> {
    let given = GIVEN.iter().map(|text| text.parse().expect("a constant"));
    given.collect()
}

fn program(kernel: &Kernel, given: &[GivenConstant], form: Form) -> Module {
    let request = Request {
        constants: given,
        open: OpenConstants::Zero,
        form,
    };
    let program = kernel.program_as(&request);
    program.unwrap_or_else(|error| panic!("{error}")).module
}

/// The values a kernel's program gives, run and emulated.
fn both(module: &Module, name: &str) -> [Vec<f32>; 2] {
    let mut inputs = Inputs::of_one_buffer(VALUES * 4);
    let left = judge::left_in_first_buffer(module, name, &mut inputs);
    left.unwrap_or_else(|error| panic!("{name}: {error}"))
        .map(floats)
}

fn floats(bytes: Vec<u8>) -> Vec<f32> {
    let words = bytes.chunks_exact(4);
    let words = words.map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    words.collect()
}

/// The values a kernel gives when it is checked, in which nothing may be found.
fn checked(kernel: &Kernel, given: &[GivenConstant]) -> Vec<f32> {
    let module = kernel.checked_program(
        given,
        Checks {
            arithmetic: true,
            ..Checks::default()
        },
    );
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    let options = assay_exec::Options {
        guards: true,
        ..assay_exec::Options::default()
    };
    let program = assay_exec::Program::compile(&module, &kernel.name, &options);
    let program = program.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let mut bindings = assay_exec::Bindings::new();
    bindings.set(0, assay_exec::Buffer::zeroed(VALUES * 4));
    let grid = assay_exec::Grid::threads([1; 3], [1; 3]);
    let found = program.check(&grid, &mut bindings, &assay_exec::Limits::default());
    let found = found.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    assert!(found.is_empty(), "{}: {found:?}", kernel.name);
    let buffer = bindings.get(0).expect("the buffer");
    floats(buffer.bytes().to_vec())
}

/// The values of a program whose function constants are open, and given when it is run: what depends on them is
/// constructed by each thread.
fn constructed_when_run(kernel: &Kernel) -> Vec<f32> {
    let module = kernel.program(&[]);
    let module = module.unwrap_or_else(|error| panic!("{error}"));
    let constants = [
        (0, 1),
        (1, 0),
        (2, 5),
        (3, u64::from(2.5f32.to_bits())),
        (4, 0),
    ];
    let options = assay_exec::Options {
        constants: constants.map(|(index, bits)| (index, vec![bits])).to_vec(),
        ..assay_exec::Options::default()
    };
    let program = assay_exec::Program::compile(&module, &kernel.name, &options);
    let program = program.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let mut bindings = assay_exec::Bindings::new();
    bindings.set(0, assay_exec::Buffer::zeroed(VALUES * 4));
    let grid = assay_exec::Grid::threads([1; 3], [1; 3]);
    let ended = program.run(&grid, &mut bindings, &assay_exec::Limits::default());
    ended.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    floats(bindings.get(0).expect("the buffer").bytes().to_vec())
}

#[test]
fn constants_hold_what_they_are_declared_to_by_every_way() {
    if load::compiler().is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    }
    let rows = rows();
    assert!(rows.len() >= 100, "{} rows", rows.len());
    let text = source(&rows);
    let given = given();
    let (plain, guarded) = (compiled(&text, false), compiled(&text, true));
    let mut wrong = Vec::new();
    for (group, rows) in rows.chunks(ROWS).enumerate() {
        let name = format!("k{group}");
        let kernel = plain.kernel(&name).expect("the kernel");
        let [run, emulated] = both(&program(kernel, &given, Form::Optimised), &name);
        let printed = assay_rewrite::print(&program(kernel, &given, Form::LoopsKept), &name);
        let printed = printed.unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = compiled(&printed, false);
        let again = again.kernel(&name).expect("the kernel");
        let [printed, _] = both(&program(again, &given, Form::Optimised), &name);
        let checked = checked(guarded.kernel(&name).expect("the kernel"), &given);
        let open = constructed_when_run(kernel);
        let ways = [
            ("run", run),
            ("emulated", emulated),
            ("printed", printed),
            ("checked", checked),
            ("constants given late", open),
        ];
        let mut at = 0;
        for (index, row) in rows.iter().enumerate() {
            for (read, &value) in row.reads.iter().zip(&row.values) {
                for (way, left) in &ways {
                    // Whether a constant has a value is asked when the program is made.
                    if *way == "constants given late" && row.declaration.contains("_defined") {
                        continue;
                    }
                    let got = left[at];
                    // Single functions are good to a few units of the last place.
                    let close = (got - value).abs() <= 2e-6 * value.abs().max(1.0);
                    if !close || got.to_bits() != ways[0].1[at].to_bits() {
                        let line = group * ROWS + index + 1;
                        wrong.push(format!("{line}: {way}: {read} is {got}, not {value}"));
                    }
                }
                at += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

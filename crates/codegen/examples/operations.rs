//! What each operation costs and how far it is from the exact value: kernels of one operation each, in fast math, with
//! `precise::` and without fast math, in float, half, brain float and vectors.
//!
//! ```text
//! cargo run --release -p assay-codegen --example operations > docs/arithmetic.md
//! ```
//!
//! Instructions are those of the generated code beyond loads, stores and address; errors are of the executor's results
//! (which are the emulator's, bit for bit) against double precision. `--check` prints only the operations above the
//! limit that `operations.tsv` gives, and fails if there is one.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/load.rs"]
#[allow(dead_code, reason = "the judge uses the rest")]
mod load;

use assay_exec::{Bindings, Buffer, Grid, Limits};
use assay_front::{Library, Source};
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// Inputs of each kernel whose inputs are a sample.
const SAMPLE: usize = 1 << 18;

/// One line of `operations.tsv`.
struct Operation {
    name: &'static str,
    expression: &'static str,
    arguments: usize,
    domain: &'static str,
    limits: [Option<u32>; 2],
    fast: [&'static str; 2],
    precise: [&'static str; 2],
}

fn operations() -> Vec<Operation> {
    let lines = include_str!("operations.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let fields: Vec<&'static str> = line.split('\t').collect();
            let &[name, expression, arguments, domain, float, half, a, b, c, d] = &fields[..]
            else {
                return None;
            };
            Some(Operation {
                name,
                expression,
                arguments: arguments.parse().ok()?,
                domain,
                limits: [float.parse().ok(), half.parse().ok()],
                fast: [a, b],
                precise: [c, d],
            })
        })
        .collect()
}

/// How a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Fast,
    Precise,
    Safe,
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Fast, Mode::Precise, Mode::Safe];

    fn name(self) -> &'static str {
        match self {
            Mode::Fast => "fast",
            Mode::Precise => "precise::",
            Mode::Safe => "safe",
        }
    }
}

/// A type of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    lanes: usize,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::new("float", 1),
        Kind::new("half", 1),
        Kind::new("bfloat", 1),
        Kind::new("float2", 2),
        Kind::new("float4", 4),
        Kind::new("half2", 2),
        Kind::new("half4", 4),
    ];

    const fn new(name: &'static str, lanes: usize) -> Kind {
        Kind { name, lanes }
    }

    fn format(self) -> Format {
        match self.name.as_bytes().first() {
            Some(b'h') => Format::Half,
            Some(b'b') => Format::Brain,
            _ => Format::Single,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Single,
    Half,
    Brain,
}

impl Format {
    fn bytes(self) -> usize {
        if self == Format::Single { 4 } else { 2 }
    }

    fn read(self, bytes: &[u8]) -> f64 {
        let short = || u16::from_le_bytes([bytes[0], bytes[1]]);
        f64::from(match self {
            Format::Single => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            Format::Half => assay_num::f16_to_f32(short()),
            Format::Brain => assay_num::bf16_to_f32(short()),
        })
    }

    fn rounded(self, value: f64, to: &mut Vec<u8>) {
        match self {
            Format::Single => to.extend((value as f32).to_le_bytes()),
            Format::Half => to.extend(assay_num::f32_to_f16(value as f32).to_le_bytes()),
            Format::Brain => to.extend(assay_num::f32_to_bf16(value as f32).to_le_bytes()),
        }
    }

    /// The size of the last place at a value, and the largest finite number.
    fn unit(self, value: f64) -> (f64, f64) {
        let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
        let (least, digits, most) = match self {
            Format::Single => (-126, 23, f64::from(f32::MAX)),
            Format::Half => (-14, 10, 65504.0),
            Format::Brain => (-126, 7, f64::from(f32::MAX)),
        };
        (2f64.powi(exponent.max(least) - digits), most)
    }
}

/// A kernel to measure.
struct Case<'a> {
    operation: &'a Operation,
    kind: Kind,
    mode: Mode,
    name: String,
}

fn cases(operations: &[Operation]) -> Vec<Case<'_>> {
    let mut cases = Vec::new();
    for (number, operation) in operations.iter().enumerate() {
        for mode in Mode::ALL {
            for kind in Kind::ALL {
                let qualified = operation.expression.contains('@');
                let wanted = match (mode, kind.format()) {
                    // Without a function there is nothing to qualify.
                    (Mode::Precise, _) if !qualified => false,
                    // Brain floats have operators and no functions of their own.
                    (_, Format::Brain) if qualified => false,
                    // Vectors are done element by element: fast math shows it.
                    (Mode::Precise | Mode::Safe, _) if kind.lanes > 1 => false,
                    _ => true,
                };
                let scalar_only = operation.expression.contains("fma(") && kind.name == "bfloat";
                if wanted && !scalar_only {
                    cases.push(Case {
                        operation,
                        kind,
                        mode,
                        name: format!("k{number}_{}_{}", kind.name, mode as u8),
                    });
                }
            }
        }
    }
    cases
}

fn source(cases: &[Case<'_>], mode: Mode) -> String {
    let mut text = String::from("#include <metal_stdlib>\nusing namespace metal;\n");
    let mut kernel = |name: &str, kind: Kind, arguments: usize, expression: &str| {
        let letters = &["x", "y", "z"][..arguments];
        let _ = write!(
            text,
            "kernel void {name}(device {0} *r [[buffer(0)]]",
            kind.name
        );
        for (index, letter) in letters.iter().enumerate() {
            let _ = write!(
                text,
                ", device const {} *{letter}s [[buffer({})]]",
                kind.name,
                index + 1
            );
        }
        let _ = write!(
            text,
            ", uint i [[thread_position_in_grid]]) {{\n  typedef {} T;\n",
            kind.name
        );
        for letter in letters {
            let _ = writeln!(text, "  T {letter} = {letter}s[i];");
        }
        let _ = writeln!(text, "  r[i] = T({expression});\n}}");
    };
    for kind in Kind::ALL {
        for arguments in 1..=3 {
            let bits = |name: &str| format!("as_type<ushort>({name})");
            let expression = match (kind.format(), arguments) {
                (_, 1) => "x".to_owned(),
                // A sum of brain floats is many instructions; their bits are used by one.
                (Format::Brain, 2) => {
                    format!("as_type<bfloat>(ushort({} ^ {}))", bits("x"), bits("y"))
                }
                (Format::Brain, _) => {
                    format!(
                        "as_type<bfloat>(ushort({} ^ {} ^ {}))",
                        bits("x"),
                        bits("y"),
                        bits("z")
                    )
                }
                (_, 2) => "x + y".to_owned(),
                _ => "x + y + z".to_owned(),
            };
            let name = format!("skeleton_{}_{arguments}", kind.name);
            kernel(&name, kind, arguments, &expression);
        }
    }
    for case in cases.iter().filter(|case| case.mode == mode) {
        let prefix = if mode == Mode::Precise {
            "precise::"
        } else {
            ""
        };
        let expression = case.operation.expression.replace('@', prefix);
        kernel(&case.name, case.kind, case.operation.arguments, &expression);
    }
    text
}

fn library(text: &str, fast_math: bool) -> Result<Library, String> {
    let build = load::Build {
        fast_math,
        ..load::Build::default()
    };
    let source = Source {
        path: Path::new("operations.metal"),
        text: text.as_bytes(),
    };
    load::compiled(source, &build)
}

fn program(library: &Library, name: &str) -> Result<assay_ssa::Module, String> {
    load::program(library.kernel(name).map_err(|error| error.to_string())?)
}

/// Instructions of a kernel's main program.
fn instructions(module: &assay_ssa::Module, kernel: &str) -> Result<u32, String> {
    let program = assay_codegen::generate(module, kernel, &Default::default())
        .map_err(|error| error.to_string())?;
    let chip = assay_chip::Chip::named("m1").map_err(|error| error.to_string())?;
    let profile = assay_profile::Profile::new(&program, &assay_profile::Options::new(chip));
    Ok(profile
        .map_err(|error| error.to_string())?
        .main
        .instructions)
}

/// A small generator of numbers, the same every time.
struct Random(u64);

impl Random {
    fn fraction(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The inputs of one argument: every number of a short format in the domain if it is the only one, else a sample.
fn inputs(operation: &Operation, format: Format, argument: usize) -> Vec<u8> {
    let words: Vec<&str> = operation.domain.split(' ').collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.parse().ok())
            .unwrap_or(1.0)
    };
    let (mut low, mut high): (f64, f64) = (number(1), number(2));
    if format == Format::Half {
        // Results must be finite too.
        let most = if words[0] == "lin" { 10.0 } else { 200.0 };
        (low, high) = (
            low.max(-most)
                .max(if words[0] == "lin" { -most } else { 1e-4 }),
            high.min(most),
        );
    }
    let mut bytes = Vec::new();
    if format != Format::Single && operation.arguments == 1 {
        for bits in 0..=u16::MAX {
            let value = format.read(&bits.to_le_bytes());
            let size = if words[0] == "slog" {
                value.abs()
            } else {
                value
            };
            if size >= low && size <= high {
                bytes.extend(bits.to_le_bytes());
            }
        }
        return bytes;
    }
    let mut random = Random(0x9e37_79b9 + 77 * argument as u64);
    for _ in 0..SAMPLE {
        let (at, sign) = (random.fraction(), random.fraction());
        let value = match words[0] {
            "lin" => low + (high - low) * at,
            _ => (low.ln() + (high.ln() - low.ln()) * at).exp(),
        };
        let negative = words[0] == "slog" && sign < 0.5;
        format.rounded(if negative { -value } else { value }, &mut bytes);
    }
    bytes
}

fn exact(name: &str, [x, y, z]: [f64; 3]) -> f64 {
    use std::f64::consts::PI;
    match name {
        "divide" => x / y,
        "reciprocal" => 1.0 / x,
        "multiply" => x * y,
        "add" => x + y,
        "fma" | "multiply-add" => x.mul_add(y, z),
        "sqrt" => x.sqrt(),
        "rsqrt" | "1 / sqrt" => 1.0 / x.sqrt(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "exp10" => 10f64.powf(x),
        "log" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "pow" | "powr" => x.powf(y),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "sinpi" => (x * PI).sin(),
        "cospi" => (x * PI).cos(),
        "tanpi" => (x * PI).tan(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "atan2" => x.atan2(y),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => x.acosh(),
        "atanh" => x.atanh(),
        "fmod" => x % y,
        "fract" => x - x.floor(),
        "round" => x.round(),
        "rint" => x.round_ties_even(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        "saturate" | "clamp to [0, 1]" => x.clamp(0.0, 1.0),
        "clamp" => x.max(y).min(z),
        "fmin" => x.min(y),
        "fmax" => x.max(y),
        "mix" => x + (y - x) * z,
        "smoothstep" => {
            let t = ((z - x) / (y - x)).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }
        "step" => f64::from(u8::from(y >= x)),
        _ => f64::NAN,
    }
}

/// The largest error of a kernel: in units of the last place, and absolute.
fn error(module: &assay_ssa::Module, case: &Case<'_>) -> Result<(f64, f64), String> {
    let (format, count) = (case.kind.format(), case.operation.arguments);
    let arguments: Vec<Vec<u8>> = (0..count)
        .map(|argument| inputs(case.operation, format, argument))
        .collect();
    let program = assay_exec::Program::compile(module, &case.name, &Default::default())
        .map_err(|error| error.to_string())?;
    let size = format.bytes();
    let numbers = arguments[0].len() / size;
    let threads = (numbers / case.kind.lanes) as u32;
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::from_bytes(&vec![0; arguments[0].len()]));
    for (index, bytes) in arguments.iter().enumerate() {
        bindings.set(index as u32 + 1, Buffer::from_bytes(bytes));
    }
    program
        .run(&Grid::line(threads, 256), &mut bindings, &Limits::default())
        .map_err(|error| error.to_string())?;
    let results = bindings.get(0).ok_or("no result")?.bytes();
    let (mut units, mut absolute) = (0f64, 0f64);
    for at in (0..threads as usize * case.kind.lanes).map(|index| index * size) {
        let mut given = [0.0; 3];
        for (slot, bytes) in given.iter_mut().zip(&arguments) {
            *slot = format.read(&bytes[at..at + size]);
        }
        let wanted = exact(case.operation.name, given);
        let (unit, most) = format.unit(wanted);
        if !wanted.is_finite() || wanted.abs() > most {
            continue;
        }
        let apart = (format.read(&results[at..at + size]) - wanted).abs();
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        units = units.max(apart / unit);
        absolute = absolute.max(apart);
    }
    Ok((units, absolute))
}

/// What was found out about a kernel.
struct Row<'a> {
    case: Case<'a>,
    instructions: i64,
    error: (f64, f64),
}

impl Row<'_> {
    /// The most instructions it should have.
    fn limit(&self) -> Option<u32> {
        let [float, half] = self.case.operation.limits;
        let kind = self.case.kind;
        match (self.case.mode, kind.format(), kind.lanes) {
            (Mode::Fast, Format::Single, 1) => float,
            (Mode::Fast, Format::Half, 1) => half,
            _ => None,
        }
    }
}

fn measured<'a>(cases: Vec<Case<'a>>) -> Result<Vec<Row<'a>>, String> {
    let mut libraries = Vec::new();
    for mode in Mode::ALL {
        libraries.push(library(&source(&cases, mode), mode != Mode::Safe)?);
    }
    let mut skeletons = std::collections::HashMap::new();
    let mut rows = Vec::new();
    for case in cases {
        let code = &libraries[case.mode as usize];
        let (kind, arguments) = (case.kind, case.operation.arguments);
        let key = (kind.name, arguments);
        let skeleton = match skeletons.get(&key) {
            Some(&known) => known,
            None => {
                let name = format!("skeleton_{}_{arguments}", kind.name);
                let all = instructions(&program(code, &name)?, &name)?;
                // One operation for each element of each argument beyond the first.
                let known = i64::from(all) - ((arguments - 1) * kind.lanes) as i64;
                skeletons.insert(key, known);
                known
            }
        };
        let module = program(code, &case.name)?;
        let all = instructions(&module, &case.name)
            .map_err(|message| format!("{} ({}): {message}", case.operation.name, kind.name))?;
        rows.push(Row {
            instructions: i64::from(all) - skeleton,
            error: error(&module, &case)?,
            case,
        });
    }
    Ok(rows)
}

fn shown(error: f64) -> String {
    match error {
        error if error.is_infinite() => "∞".to_owned(),
        error if error >= 1000.0 => format!("{error:.1e}"),
        error if error >= 10.0 => format!("{error:.0}"),
        error => format!("{error:.2}"),
    }
}

fn print(rows: &[Row<'_>]) {
    println!("{}", include_str!("operations.md"));
    println!("{} kernels.\n", rows.len());
    println!("| operation | type | mode | instructions | at most | units | absolute | arguments |");
    println!("|---|---|---|---|---|---|---|---|");
    for row in rows {
        let operation = row.case.operation;
        let limit = row
            .limit()
            .map_or("–".to_owned(), |limit| limit.to_string());
        println!(
            "| {} | {} | {} | {} | {limit} | {} | {:.1e} | {} |",
            operation.name,
            row.case.kind.name,
            row.case.mode.name(),
            row.instructions,
            shown(row.error.0),
            row.error.1,
            operation.domain
        );
    }
    println!("\n## Definitions\n");
    println!("| operation | fast math | known from | precise and safe | known from |");
    println!("|---|---|---|---|---|");
    let mut last = "";
    for row in rows {
        let Operation {
            name,
            fast,
            precise,
            ..
        } = row.case.operation;
        if *name != last {
            println!(
                "| {name} | {} | {} | {} | {} |",
                fast[0], fast[1], precise[0], precise[1]
            );
        }
        last = name;
    }
}

fn main() -> ExitCode {
    let operations = operations();
    let rows = match measured(cases(&operations)) {
        Ok(rows) => rows,
        Err(message) => {
            eprintln!("operations: {message}");
            return ExitCode::from(3);
        }
    };
    let above: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| {
            row.limit()
                .is_some_and(|limit| row.instructions > i64::from(limit))
        })
        .collect();
    if std::env::args().any(|argument| argument == "--check") {
        for row in &above {
            let (operation, kind) = (row.case.operation.name, row.case.kind.name);
            println!(
                "{operation} ({kind}): {} instructions, at most {:?}",
                row.instructions,
                row.limit()
            );
        }
        return ExitCode::from(u8::from(!above.is_empty()));
    }
    print(&rows);
    ExitCode::SUCCESS
}

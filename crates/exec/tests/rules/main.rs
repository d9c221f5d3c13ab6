//! Every rule about compiling Metal with clang, by a kernel whose result depends on it.
//!
//! Each case of the tables is checked twice: with the rule, where what is seen must be what is
//! expected, and without it, where it must not be, or the rule is not needed. A rule about an
//! option of clang, or about the text clang is given, is taken away by a script that stands for
//! the compiler. A rule that cannot be taken away so says what happened when it was.

#[path = "../examples/common.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod common;
mod language;
mod numbers;
mod sharing;

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program, Report, ReportKind, Sample};
use assay_front::{Clang, Library, Source, SourceOptions};
use assay_msl::Compiler;
use std::path::{Path, PathBuf};

const LANES: u32 = 32;

/// The rules; every one has a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A compiler that computes in bfloat: clang 17 or newer, told by a probe.
    Probe,
    /// `--target=aarch64-linux-gnu`.
    Target,
    /// `-fsigned-char`.
    SignedChar,
    /// `-nostdinc`, and no macro of the host.
    NoHost,
    /// `-fno-builtin`.
    NoBuiltin,
    /// `-fno-threadsafe-statics`.
    NoGuards,
    /// `-fbfloat16-excess-precision=none`.
    BfloatPrecision,
    /// `-fconvergent-functions`.
    Convergent,
    /// `-fhonor-infinities -fhonor-nans`.
    Infinities,
    /// `-fno-strict-float-cast-overflow`.
    Saturation,
    /// `-indvars-widen-indvars=false`.
    NarrowCounters,
    /// `used` on threadgroup variables.
    Used,
    /// Trivial constructors on vectors.
    TrivialConstructors,
    /// `__restrict` on buffers.
    Restrict,
    /// Names of builtins without an address space, resolved where the pointer came from.
    NeutralNames,
    /// One of several functions that differ only in address spaces, if they are the same.
    Overloads,
    /// Positions through builtins, structs through memory.
    ByValue,
    /// Only macros of the library in the preprocessing pass.
    MacrosOnly,
}

const RULES: [Rule; 18] = [
    Rule::Probe,
    Rule::Target,
    Rule::SignedChar,
    Rule::NoHost,
    Rule::NoBuiltin,
    Rule::NoGuards,
    Rule::BfloatPrecision,
    Rule::Convergent,
    Rule::Infinities,
    Rule::Saturation,
    Rule::NarrowCounters,
    Rule::Used,
    Rule::TrivialConstructors,
    Rule::Restrict,
    Rule::NeutralNames,
    Rule::Overloads,
    Rule::ByValue,
    Rule::MacrosOnly,
];

/// What is looked at, and what it must be.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    /// The contents of the last buffer.
    Last(Vec<u8>),
    /// Loads from device memory by a simdgroup.
    Loads(u64),
    /// Stores to thread memory by a simdgroup.
    ThreadStores(u64),
    /// Reads of memory nobody wrote.
    Unwritten(usize),
    /// Whether a loop counter is 64 bits wide.
    WideCounter(bool),
    /// Whether a pointer's address space is still unknown.
    Generic(bool),
}

/// How to do without the rule.
enum Without {
    /// Options, as a shell's patterns, and what stands for them; nothing if empty.
    Options(&'static [(&'static str, &'static str)]),
    /// Text, as `sed` changes it, in the library and in what the token pass makes of the kernel.
    Text(&'static str),
    /// Another library in the preprocessing pass.
    Library(&'static str),
    /// Another compiler, if it is on this machine.
    Compiler(&'static str),
    /// What was seen when the rule was taken out of the code by hand.
    ByHand(&'static str),
}

/// A kernel `k` over one simdgroup with buffers 0, 1, ….
struct Case {
    rule: Rule,
    name: &'static str,
    source: &'static str,
    fast_math: bool,
    buffers: Vec<Buffer>,
    /// What must be seen, or what the refusal must say.
    expected: Result<Seen, &'static str>,
    without: Without,
}

fn cases() -> Vec<Case> {
    let mut all = numbers::cases();
    all.extend(sharing::cases());
    all.extend(language::cases());
    all
}

fn words(of: impl Fn(u32) -> u32) -> Buffer {
    Buffer::from_slice(&(0..LANES).map(of).collect::<Vec<u32>>())
}

fn floats(of: impl Fn(u32) -> f32) -> Buffer {
    Buffer::from_slice(&(0..LANES).map(of).collect::<Vec<f32>>())
}

fn last(buffer: &Buffer) -> Result<Seen, &'static str> {
    Ok(Seen::Last(buffer.bytes().to_vec()))
}

/// A program on the path.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place| place.is_file())
}

fn temporary() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The program of a case, or why there is none.
fn compile(case: &Case, compiler: &Compiler) -> Result<assay_ssa::Module, String> {
    let clang = Clang::new(compiler.clone(), temporary().join("rules-headers"));
    let options = SourceOptions {
        fast_math: case.fast_math,
        ..SourceOptions::default()
    };
    let text = match case.source.contains("#include") {
        true => case.source.to_owned(),
        false => format!(
            "#include <metal_stdlib>\nusing namespace metal;\n{}",
            case.source
        ),
    };
    let source = Source {
        path: Path::new("rule.metal"),
        text: text.as_bytes(),
    };
    let library = Library::compile(source, &clang, &options).map_err(|e| e.to_string())?;
    let module = library.units().first().map(|unit| unit.program(&[]));
    module.ok_or("no module")?.map_err(|e| e.to_string())
}

/// What is seen of a case; of the last buffer when a refusal is expected.
fn look(case: &Case, compiler: &Compiler) -> Result<Seen, String> {
    let module = compile(case, compiler)?;
    let has = |wanted: fn(&str) -> bool| assay_ssa::print(&module).lines().any(wanted);
    match case.expected {
        Ok(Seen::WideCounter(_)) => {
            let wide = has(|line| line.starts_with('b') && line.contains(": i64"));
            return Ok(Seen::WideCounter(wide));
        }
        Ok(Seen::Generic(_)) => return Ok(Seen::Generic(has(|line| line.contains("ptr.generic")))),
        _ => {}
    }
    let program = Program::compile(&module, "k", &Options::default()).map_err(|e| e.to_string())?;
    let mut bindings = Bindings::new();
    for (index, buffer) in (0..).zip(&case.buffers) {
        bindings.set(index, buffer.clone());
    }
    let (grid, limits) = (Grid::line(LANES, LANES), Limits::default());
    match case.expected {
        Ok(Seen::Unwritten(_)) => {
            let reports = program.check(&grid, &mut bindings, &limits);
            let reports = reports.map_err(|e| e.to_string())?;
            let unwritten = |report: &&Report| report.kind == ReportKind::Uninitialised;
            Ok(Seen::Unwritten(reports.iter().filter(unwritten).count()))
        }
        Ok(Seen::Loads(_) | Seen::ThreadStores(_)) => {
            let counts = program.count(&grid, &mut bindings, &limits, Sample::All);
            let counts = counts.map_err(|e| e.to_string())?;
            Ok(match case.expected {
                Ok(Seen::Loads(_)) => Seen::Loads(counts.device.traffic.loads),
                _ => Seen::ThreadStores(counts.thread_memory.stores),
            })
        }
        _ => {
            let ran = program.run(&grid, &mut bindings, &limits);
            ran.map_err(|e| e.to_string())?;
            let index = case.buffers.len() as u32 - 1;
            let buffer = bindings.get(index).cloned().unwrap_or_default();
            Ok(Seen::Last(buffer.bytes().to_vec()))
        }
    }
}

fn holds(case: &Case, compiler: &Compiler) {
    let seen = look(case, compiler);
    match (&seen, &case.expected) {
        (Ok(seen), Ok(expected)) => assert_eq!(seen, expected, "{}", case.name),
        (Err(why), Err(expected)) => assert!(why.contains(expected), "{}: {why}", case.name),
        _ => panic!("{}: {seen:?}, expected {:?}", case.name, case.expected),
    }
}

/// The compiler without the rule of a case: a script that changes its options or its input.
#[cfg(unix)]
fn crippled(compiler: &Compiler, case: &Case) -> Option<Compiler> {
    let real = compiler.program.display();
    let (changes, input) = match case.without {
        Without::Options(changes) => (changes.to_vec(), String::new()),
        Without::Text(expression) => (Vec::new(), format!("sed -E '{expression}' | ")),
        Without::Library(text) => {
            let folder = temporary().join(format!("library-of-{}", case.name));
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("metal_stdlib"), text).expect("a library");
            let folder: &'static str = folder.display().to_string().leak();
            let stubs = ("*/metal_macros", "$a");
            (vec![stubs, ("*/include-*", folder)], String::new())
        }
        Without::Compiler(name) => return on_path(name).map(Compiler::new),
        Without::ByHand(what) => {
            assert!(!what.is_empty(), "{}", case.name);
            return None;
        }
    };
    let arms = changes.iter().map(|(option, by)| match by.is_empty() {
        true => format!("{option}) ;;\n"),
        false => format!("{option}) set -- \"$@\" \"{by}\";;\n"),
    });
    let script = format!(
        "#!/bin/sh\nn=$#\nwhile [ $n -gt 0 ]; do\na=$1; shift; n=$((n-1))\ncase \"$a\" in\n{}\
         *) set -- \"$@\" \"$a\";;\nesac\ndone\n{input}'{real}' \"$@\"\n",
        arms.collect::<String>()
    );
    Some(Compiler {
        identity: format!("{} without {}", compiler.identity, case.name),
        ..Compiler::new(executable(case.name, &script))
    })
}

#[cfg(unix)]
fn executable(name: &str, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = temporary().join(format!("clang-without-{name}"));
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

fn check(of: fn() -> Vec<Case>) {
    let Some(compiler) = common::compiler() else {
        return;
    };
    for case in of() {
        holds(&case, compiler);
        #[cfg(unix)]
        if let Some(crippled) = crippled(compiler, &case) {
            let seen = look(&case, &crippled);
            let same = matches!((&seen, &case.expected), (Ok(a), Ok(b)) if a == b);
            assert!(!same, "{}: the rule makes no difference", case.name);
        }
    }
}

#[test]
fn numbers_follow_the_rules() {
    check(numbers::cases);
}

#[test]
fn sharing_follows_the_rules() {
    check(sharing::cases);
}

#[test]
fn language_follows_the_rules() {
    check(language::cases);
}

#[test]
fn every_rule_has_a_case() {
    let all = cases();
    for rule in RULES {
        let covered = all.iter().any(|case| case.rule == rule);
        assert!(covered, "{rule:?} has no kernel");
    }
}

/// The version text decides nothing; clang 16 lacks arithmetic in bfloat and is told by that.
#[test]
fn an_old_clang_is_refused_by_the_probe() {
    let Some(old) = on_path("clang-16") else {
        return;
    };
    let refusal = Compiler::new(old).probe().expect_err("too old");
    assert!(
        refusal.to_string().starts_with("fails the probe"),
        "{refusal}"
    );
}

//! Judges machine code for the CPU: runs kernels by the interpreter and as machine code, on the same random buffers, and compares
//! every byte and every fault.
//!
//! ```text
//! cargo run --release -p assay-codegen --example native -- examples/kernels/*.metal
//! cargo run --release -p assay-codegen --example native -- --sample 300 --seed 1 mlx.metallib
//! ```
//!
//! Exit 1 when any kernel differs.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/inputs.rs"]
#[allow(
    dead_code,
    reason = "the judge of machine code for the GPU uses the rest"
)]
mod inputs;
#[path = "../tests/judge/load.rs"]
#[allow(dead_code, reason = "as above")]
mod load;
#[path = "../tests/judge/values.rs"]
#[allow(dead_code, reason = "as above")]
mod values;

use assay_exec::{
    Bindings, Buffer, FaultKind, Grid, Limits, Options, Program, ReportKind, RunError,
};
use assay_front::{Bytes, Kernel, Library};
use inputs::{Inputs, MORE_TRIALS, TRIALS};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Default)]
struct Args {
    files: Vec<PathBuf>,
    only: Vec<String>,
    sample: Option<usize>,
    seed: u64,
    verbose: bool,
    /// Print the text that code is made of.
    text: bool,
    cache: Option<PathBuf>,
    build: load::Build,
}

fn args() -> Result<Args, String> {
    let mut parsed = Args {
        seed: 1,
        ..Args::default()
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match arg.as_str() {
            "--only" => parsed.only.push(value()?),
            "--sample" => parsed.sample = Some(number(value()?)? as usize),
            "--seed" => parsed.seed = number(value()?)?,
            "--text" => parsed.text = true,
            "--cache" => parsed.cache = Some(value()?.into()),
            "-v" => parsed.verbose = true,
            "-I" => parsed.build.include.push(value()?.into()),
            "-D" => parsed.build.defines.push(value()?),
            _ if arg.starts_with('-') => return Err(format!("{arg} is not an option")),
            _ => parsed.files.push(arg.into()),
        }
    }
    match parsed.files.is_empty() {
        true => Err("name a file".to_owned()),
        false => Ok(parsed),
    }
}

/// How a run ended: with buffers, or with a fault.
type Ended = Result<Vec<(u32, Vec<u8>)>, RunError>;

fn bindings(inputs: &Inputs) -> Bindings {
    let mut bindings = Bindings::new();
    for (index, bytes) in &inputs.buffers {
        bindings.set(*index, Buffer::from_bytes(bytes));
    }
    for &(index, bytes) in &inputs.threadgroup_memory {
        bindings.set_threadgroup_memory(index, bytes);
    }
    bindings
}

fn run(program: &Program, inputs: &Inputs) -> (Ended, Duration) {
    let mut bindings = bindings(inputs);
    let limits = Limits {
        max_steps: inputs.max_steps,
        ..Limits::default()
    };
    let grid = Grid::threads(inputs.grid, inputs.threadgroup);
    let start = Instant::now();
    let result = program.run(&grid, &mut bindings, &limits);
    let took = start.elapsed();
    let buffers = inputs.buffers.iter().map(|(index, _)| {
        let bytes = bindings.get(*index).map(|buffer| buffer.to_vec::<u8>());
        (*index, bytes.unwrap_or_default())
    });
    (result.map(|_| buffers.collect()), took)
}

/// Returns true if the executor's checks find something whose outcome Metal does not define.
fn races(program: &Program, inputs: &Inputs) -> bool {
    let limits = Limits {
        max_steps: inputs.max_steps,
        ..Limits::default()
    };
    let grid = Grid::threads(inputs.grid, inputs.threadgroup);
    let reports = program.check(&grid, &mut bindings(inputs), &limits);
    reports.is_ok_and(|reports| {
        let harmless = |kind| matches!(kind, ReportKind::OutOfBounds | ReportKind::Uninitialised);
        reports
            .iter()
            .any(|report| !harmless(report.kind) && !report.kind.is_warning())
    })
}

/// Interpreted, with buffers grown until they suffice.
fn run_growing(program: &Program, inputs: &mut Inputs) -> (Ended, Duration) {
    for _ in 0..40 {
        let ended = run(program, inputs);
        let Err(RunError::Fault(fault)) = &ended.0 else {
            return ended;
        };
        let FaultKind::OutOfBounds {
            offset,
            size,
            target,
            ..
        } = &fault.kind
        else {
            return ended;
        };
        let index = target
            .strip_prefix("buffer ")
            .and_then(|rest| rest.split(' ').next()?.parse().ok());
        let grown = match index {
            Some(index) if *offset >= 0 => inputs.grow(index, *offset as u64 + u64::from(*size)),
            None if target == "threadgroup memory" => inputs.grow_threadgroup_memory(),
            _ => false,
        };
        if !grown {
            return ended;
        }
    }
    run(program, inputs)
}

fn kind(error: &RunError) -> String {
    match error {
        RunError::Fault(fault) => match &fault.kind {
            FaultKind::TooManySteps { .. } => "too many steps".to_owned(),
            FaultKind::OutOfBounds { .. } | FaultKind::NoTarget { .. } => {
                "out of bounds".to_owned()
            }
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

#[derive(Default)]
struct Judged {
    same: usize,
    stopped: usize,
    /// Trials whose result Metal does not define, and that differ.
    undefined: usize,
    refused: Option<String>,
    different: Option<String>,
    facts: Vec<assay_exec::Native>,
    interpreted: Duration,
    native: Duration,
}

fn judge(kernel: &Kernel, args: &Args, compiler: &assay_native::Compiler) -> Judged {
    let mut judged = Judged::default();
    let refuse = |why: String| Judged {
        refused: Some(why),
        ..Judged::default()
    };
    let name = kernel.name.as_str();
    let module = match load::program(kernel) {
        Ok(module) => module,
        Err(why) => return refuse(format!("not read: {why}")),
    };
    let Some(found) = module.kernel(name) else {
        return refuse("no such kernel".to_owned());
    };
    if found.arguments.iter().any(|a| {
        matches!(
            a.binding,
            assay_ssa::Binding::Texture(_) | assay_ssa::Binding::Sampler(_)
        )
    }) {
        return refuse("a texture: not judged".to_owned());
    }
    let options = Options {
        native: true,
        ..Options::default()
    };
    let (plain, program) = match (
        Program::compile(&module, name, &Options::default()),
        Program::compile(&module, name, &options),
    ) {
        (Ok(plain), Ok(program)) => (plain, program),
        (Err(error), _) | (_, Err(error)) => return refuse(format!("not run at all: {error}")),
    };
    for trial in 0..TRIALS + MORE_TRIALS {
        if trial >= TRIALS && judged.same > 0 {
            break;
        }
        let mut inputs = Inputs::new(&module, found, trial, args.seed);
        let (expected, interpreted) = run_growing(&plain, &mut inputs);
        if program.native_state(inputs.threadgroup) == assay_exec::NativeState::NotWorth {
            if args.text {
                println!(
                    "{}",
                    program
                        .native_text(inputs.threadgroup)
                        .unwrap_or_else(|error| error.to_string())
                );
            }
            match program.make_native(compiler, inputs.threadgroup) {
                Ok(facts) => judged.facts.push(facts),
                Err(error) => {
                    judged.refused = Some(error.to_string());
                    return judged;
                }
            }
        }
        let (got, native) = run(&program, &inputs);
        let place = format!(
            "trial {trial}, grid {:?} in threadgroups of {:?}",
            inputs.grid, inputs.threadgroup
        );
        match (expected, got) {
            (Ok(expected), Ok(got)) => {
                judged.interpreted += interpreted;
                judged.native += native;
                let differs = expected.iter().zip(&got).find_map(|((index, a), (_, b))| {
                    let at = a.iter().zip(b).position(|(a, b)| a != b)? & !3;
                    let count = a.iter().zip(b).filter(|(a, b)| a != b).count();
                    let show = |bytes: &[u8]| format!("{:02x?}", &bytes[at..(at + 4).min(bytes.len())]);
                    Some(format!("buffer {index} at byte {at}: {} expected, {} found, {count} bytes differ ({place})", show(a), show(b)))
                });
                match differs {
                    None => judged.same += 1,
                    Some(_) if races(&plain, &inputs) => judged.undefined += 1,
                    Some(why) => {
                        judged.different = Some(why);
                        return judged;
                    }
                }
            }
            (Err(a), Err(b)) if kind(&a) == kind(&b) => judged.stopped += 1,
            (Err(a), Ok(_)) if kind(&a) == "too many steps" => judged.stopped += 1,
            (a, b) => {
                let show = |ended: Ended| {
                    ended.map_or_else(|error| error.to_string(), |_| "finished".to_owned())
                };
                judged.different = Some(format!(
                    "interpreted: {}; machine code: {} ({place})",
                    show(a),
                    show(b)
                ));
                return judged;
            }
        }
    }
    judged
}

fn library(path: &Path, args: &Args) -> Result<Library, String> {
    if path.extension().is_some_and(|end| end == "metal") {
        return load::library(path, &args.build);
    }
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Library::open(&Bytes::from(bytes)).map_err(|error| error.to_string())
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(error) => {
            eprintln!(
                "{error}\nusage: native [-v] [--only NAME]... [--sample N] [--seed N] [--cache FOLDER] [--text] FILE..."
            );
            return ExitCode::from(2);
        }
    };
    let clang = std::env::var("ASSAY_CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut compiler = assay_native::Compiler::new(clang, Vec::new());
    if let Some(cache) = &args.cache {
        compiler = compiler.with_cache(cache);
    }
    let mut kernels = Vec::new();
    for path in &args.files {
        match library(path, &args) {
            Ok(library) => {
                for kernel in library.kernels() {
                    let name = kernel.name.clone();
                    if args.only.is_empty() || args.only.contains(&name) {
                        kernels.push((path.clone(), kernel.clone()));
                    }
                }
            }
            Err(error) => eprintln!("not compiled: {error}"),
        }
    }
    if let Some(count) = args.sample {
        let step = (kernels.len() / count.max(1)).max(1);
        kernels = kernels
            .into_iter()
            .skip(args.seed as usize % step)
            .step_by(step)
            .collect();
    }
    let (mut same, mut different, mut unfinished) = (0, 0, 0);
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut cold: BTreeMap<String, usize> = BTreeMap::new();
    let (mut compiled, mut loaded, mut code) = (Vec::new(), Vec::new(), 0);
    for (path, kernel) in &kernels {
        let judged = judge(kernel, &args, &compiler);
        let name = format!("{} {}", path.display(), kernel.name);
        for facts in &judged.facts {
            compiled.push(facts.compiled + facts.emitted);
            loaded.push(facts.loaded);
            code += facts.code;
            for name in &facts.interpreted {
                *cold.entry(name.clone()).or_default() += 1;
            }
        }
        if args.verbose {
            let times: Vec<u128> = judged
                .facts
                .iter()
                .map(|f| f.compiled.as_millis())
                .collect();
            let ops: Vec<&String> = judged.facts.iter().flat_map(|f| &f.interpreted).collect();
            println!(
                "{name}: {} same, {} stopped, {:.2} ms interpreted, {:.2} ms native, compiled in {times:?} ms, interpreted: {ops:?}",
                judged.same,
                judged.stopped,
                judged.interpreted.as_secs_f64() * 1e3,
                judged.native.as_secs_f64() * 1e3
            );
        }
        match (&judged.different, &judged.refused) {
            (Some(why), _) => {
                different += 1;
                println!("DIFFERENT {name}: {why}");
            }
            (None, Some(why)) => {
                let why: String = why.chars().take(200).collect();
                if args.verbose {
                    println!("refused {name}: {why}");
                }
                *refused.entry(why).or_default() += 1;
            }
            (None, None) if judged.same == 0 => unfinished += 1,
            (None, None) => same += 1,
        }
    }
    println!(
        "{} kernels: {same} the same, {different} different, {unfinished} without a finished trial, {} refused",
        kernels.len(),
        refused.values().sum::<usize>()
    );
    for (why, count) in &refused {
        println!("  refused {count}: {why}");
    }
    println!("operations that call the interpreter, by programs:");
    for (name, count) in &cold {
        println!("  {count:5} {name}");
    }
    println!(
        "median: {:?} to compile, {:?} to load; {} KB of code",
        median(compiled),
        median(loaded),
        code >> 10
    );
    match different {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}

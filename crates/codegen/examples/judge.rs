//! Judges generated code: runs kernels by the executor and their code by the emulator,
//! on the same random buffers, and compares every byte.
//!
//! ```text
//! cargo run --release -p assay-codegen --example judge -- examples/kernels/*.metal
//! cargo run --release -p assay-codegen --example judge -- --sample 300 --seed 1 mlx.metallib
//! ```
//!
//! Exit 1 when any kernel differs.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod judge;

use judge::{Verdict, load};
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: judge [-v] [--only NAME] [--sample N] [--seed N] [-I FOLDER] FILE...";

#[derive(Default)]
struct Args {
    files: Vec<PathBuf>,
    only: Option<String>,
    sample: Option<usize>,
    seed: u64,
    verbose: bool,
    build: load::Build,
}

impl Args {
    fn parse() -> Result<Args, String> {
        let mut parsed = Args {
            seed: 1,
            ..Args::default()
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
            match arg.as_str() {
                "-v" => parsed.verbose = true,
                "--only" => parsed.only = Some(value()?),
                "--sample" => parsed.sample = Some(number(value()?)? as usize),
                "--seed" => parsed.seed = number(value()?)?,
                "-I" => parsed.build.include.push(value()?.into()),
                _ if arg.starts_with('-') => return Err(format!("{arg} is no option")),
                _ => parsed.files.push(arg.into()),
            }
        }
        match parsed.files.is_empty() {
            true => Err("name a file".to_owned()),
            false => Ok(parsed),
        }
    }
}

/// A kernel to judge.
struct Case {
    file: String,
    name: String,
    bitcode: std::sync::Arc<Vec<u8>>,
}

struct Judged {
    name: String,
    verdict: Verdict,
    seconds: f64,
}

thread_local! {
    static CURRENT: RefCell<String> = const { RefCell::new(String::new()) };
}

fn main() -> ExitCode {
    let args = match Args::parse() {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        CURRENT.with(|current| eprintln!("while judging {}:", current.borrow()));
        default(info);
    }));
    let (mut cases, unread) = cases(&args);
    if let Some(count) = args.sample {
        cases = sample(cases, count, args.seed);
    }
    let start = Instant::now();
    let judged: Vec<Judged> = cases
        .par_iter()
        .map(|case| judge_one(case, args.seed))
        .collect();
    for message in &unread {
        println!("not compiled: {message}");
    }
    report(
        &judged,
        unread.len(),
        start.elapsed().as_secs_f64(),
        args.verbose,
    );
    let differs = |judged: &Judged| matches!(judged.verdict, Verdict::Differs(_));
    match judged.iter().any(differs) {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    }
}

/// The kernels of the files, and files that could not be read.
fn cases(args: &Args) -> (Vec<Case>, Vec<String>) {
    let found: Vec<Result<Vec<Case>, String>> = args
        .files
        .par_iter()
        .map(|path| of_file(path, args))
        .collect();
    let (mut cases, mut unread) = (Vec::new(), Vec::new());
    for result in found {
        match result {
            Ok(more) => cases.extend(more),
            Err(message) => unread.push(message),
        }
    }
    (cases, unread)
}

fn of_file(path: &Path, args: &Args) -> Result<Vec<Case>, String> {
    let wanted = |name: &str| args.only.as_deref().is_none_or(|only| only == name);
    let file = path.display().to_string();
    let fail = |error: String| format!("{file}: {error}");
    let case = |name: String, bitcode| Case {
        file: file.clone(),
        name,
        bitcode,
    };
    if path
        .extension()
        .is_some_and(|extension| extension == "metal")
    {
        let bitcode = load::bitcode(path, &args.build).map_err(fail)?;
        let names = load::kernel_names(&bitcode).map_err(fail)?;
        let bitcode = std::sync::Arc::new(bitcode);
        let names = names.into_iter().filter(|name| wanted(name));
        return Ok(names.map(|name| case(name, bitcode.clone())).collect());
    }
    let bytes = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    let contents = assay_container::open(&bytes).map_err(|error| fail(error.to_string()))?;
    let mut cases = Vec::new();
    for library in contents.metallibs() {
        for function in library.kernels().filter(|function| wanted(&function.name)) {
            if let Some(bitcode) = function.bitcode {
                let bitcode = std::sync::Arc::new(bitcode.to_vec());
                cases.push(case(function.name.to_string(), bitcode));
            }
        }
    }
    Ok(cases)
}

/// So many of the cases, the same for the same seed, in their order.
fn sample(cases: Vec<Case>, count: usize, seed: u64) -> Vec<Case> {
    let mut random = judge::inputs::Random::new(seed);
    let mut left = cases.len() as u64;
    let mut wanted = count as u64;
    cases
        .into_iter()
        .filter(|_| {
            let take = wanted > 0 && random.below(left.max(1)) < wanted;
            left -= 1;
            wanted -= u64::from(take);
            take
        })
        .collect()
}

fn judge_one(case: &Case, seed: u64) -> Judged {
    let start = Instant::now();
    CURRENT.with(|current| *current.borrow_mut() = format!("{} of {}", case.name, case.file));
    let verdict = match load::program(&case.bitcode, &case.name) {
        Ok(module) => judge::judge(&module, &case.name, seed),
        Err(message) => Verdict::NotExecuted(format!("not read: {message}")),
    };
    Judged {
        name: case.name.clone(),
        verdict,
        seconds: start.elapsed().as_secs_f64(),
    }
}

fn report(judged: &[Judged], unread: usize, seconds: f64, verbose: bool) {
    let mut unsupported: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut not_executed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut same, mut differs) = (0, 0);
    let mut never_finished: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in judged {
        match &one.verdict {
            Verdict::Same {
                finished: 0,
                stopped,
                undefined,
                why: all,
                ..
            } => {
                let why = match (stopped, undefined) {
                    (0, 0) => "too long",
                    (0, _) => "undefined in the kernel",
                    _ => "both stopped",
                };
                for why in all.iter().filter(|_| verbose) {
                    println!("not finished: {}: {why}", one.name);
                }
                never_finished.entry(why).or_default().push(&one.name);
            }
            Verdict::Same { .. } => same += 1,
            Verdict::Unsupported(why) => unsupported.entry(why).or_default().push(&one.name),
            Verdict::NotExecuted(why) => not_executed.entry(why).or_default().push(&one.name),
            Verdict::Differs(what) => {
                differs += 1;
                println!("differs: {}: {what}", one.name);
            }
        }
    }
    let count = |groups: &BTreeMap<&str, Vec<&str>>| groups.values().map(Vec::len).sum::<usize>();
    println!("kernels                    {:>7}", judged.len());
    println!("files not compiled         {unread:>7}");
    println!("the same bytes             {same:>7}");
    println!("no trial finished          {:>7}", count(&never_finished));
    reasons(&never_finished);
    println!("different                  {differs:>7}");
    println!("not generated              {:>7}", count(&unsupported));
    reasons(&unsupported);
    println!("not run by the executor    {:>7}", count(&not_executed));
    reasons(&not_executed);
    println!("host time                  {seconds:>6.1} s");
    let slowest = judged.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    if let Some(one) = slowest {
        println!(
            "slowest                    {:>6.1} s  {}",
            one.seconds, one.name
        );
    }
}

/// Reasons, the most frequent first, each with a kernel to look at.
fn reasons(groups: &BTreeMap<&str, Vec<&str>>) {
    let mut rows: Vec<(&str, &Vec<&str>)> =
        groups.iter().map(|(why, names)| (*why, names)).collect();
    rows.sort_by_key(|(why, names)| (std::cmp::Reverse(names.len()), *why));
    for (why, names) in rows {
        let first = names.first().copied().unwrap_or_default();
        println!("  {:>6}  {why} (such as {first})", names.len());
    }
}

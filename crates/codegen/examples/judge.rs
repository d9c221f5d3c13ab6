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

use assay_front::{Bytes, Kernel, Library};
use judge::{Verdict, load};
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: judge [-v] [--only NAME]... [--sample N] [--seed N] [--section TITLE | --tsv] [--code] [--printed] [--text] [-I FOLDER] [-include FILE] [-D NAME] FILE...";

#[derive(Default)]
struct Args {
    files: Vec<PathBuf>,
    /// Only kernels of these names, or of `FILE:NAME`; all when there are none.
    only: HashSet<String>,
    sample: Option<usize>,
    seed: u64,
    verbose: bool,
    /// Title of a Markdown section, which is printed in place of the report.
    section: Option<String>,
    /// A line for each kernel: file, kernel, fate, reason, seconds.
    tsv: bool,
    /// Only make the code; run nothing.
    code: bool,
    /// Judge the Metal printed from each kernel in place of its code.
    printed: bool,
    /// Show that Metal; run nothing.
    text: bool,
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
                "--section" => parsed.section = Some(value()?),
                "-v" => parsed.verbose = true,
                "--only" => {
                    parsed.only.insert(value()?);
                }
                "--sample" => parsed.sample = Some(number(value()?)? as usize),
                "--seed" => parsed.seed = number(value()?)?,
                "--code" => parsed.code = true,
                "--tsv" => parsed.tsv = true,
                "--printed" => parsed.printed = true,
                "--text" => parsed.text = true,
                "-D" => parsed.build.defines.push(value()?),
                "-include" => parsed.build.before.push(value()?.into()),
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
    kernel: Kernel,
}

struct Judged {
    file: String,
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
        .map(|case| judge_one(case, &args))
        .collect();
    for message in &unread {
        eprintln!("not compiled: {message}");
    }
    if args.verbose {
        unfinished(&judged);
    }
    if args.tsv {
        judged.iter().for_each(line);
        return ended(&judged);
    }
    let summary = Summary::of(&judged, unread.len(), start.elapsed().as_secs_f64());
    match &args.section {
        Some(title) => summary.section(title),
        None => summary.text(),
    }
    ended(&judged)
}

fn ended(judged: &[Judged]) -> ExitCode {
    let differs = |judged: &Judged| matches!(judged.verdict, Verdict::Differs(_));
    match judged.iter().any(differs) {
        true => ExitCode::from(1),
        false => ExitCode::SUCCESS,
    }
}

/// What became of a kernel as a line for programs.
fn line(judged: &Judged) {
    let (fate, why) = match &judged.verdict {
        Verdict::Same { finished: 0, .. } => ("unfinished", unfinished_because(&judged.verdict)),
        Verdict::Same { .. } => ("same", String::new()),
        Verdict::Differs(what) => ("differs", what.clone()),
        Verdict::NoPipeline(why) => ("no pipeline", why.clone()),
        Verdict::Unsupported(why) => ("not generated", why.clone()),
        Verdict::NotExecuted(why) => ("not executed", why.clone()),
    };
    let why = why.replace(['\t', '\n'], " ");
    let (file, name, seconds) = (&judged.file, &judged.name, judged.seconds);
    println!("{file}\t{name}\t{fate}\t{why}\t{seconds:.2}");
}

/// Why no trial of a kernel ran to its end, with the first trial's own words.
fn unfinished_because(verdict: &Verdict) -> String {
    let Verdict::Same {
        stopped,
        undefined,
        why,
        ..
    } = verdict
    else {
        return String::new();
    };
    let kind = unfinished_kind(*stopped, *undefined);
    format!("{kind}: {}", why.first().map_or("", String::as_str))
}

/// What kept all trials of a kernel from their end.
fn unfinished_kind(stopped: usize, undefined: usize) -> &'static str {
    match (stopped, undefined) {
        (0, 0) => "too long",
        (0, _) => "undefined in the kernel",
        _ => "both stopped",
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
    let file = path.display().to_string();
    let wanted = |name: &str| {
        let only = &args.only;
        only.is_empty() || only.contains(name) || only.contains(&format!("{file}:{name}"))
    };
    let fail = |error: String| format!("{file}: {error}");
    let is_source = path
        .extension()
        .is_some_and(|extension| extension == "metal");
    let library = if is_source {
        load::library(path, &args.build).map_err(fail)?
    } else {
        let bytes = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        let library = Library::open(&Bytes::from(bytes));
        library.map_err(|error| fail(error.to_string()))?
    };
    let kernels = library.kernels().iter();
    let cases = kernels
        .filter(|kernel| wanted(&kernel.name))
        .map(|kernel| Case {
            file: file.clone(),
            kernel: kernel.clone(),
        });
    Ok(cases.collect())
}

/// So many of the cases, the same for the same seed, in their order.
fn sample(cases: Vec<Case>, count: usize, seed: u64) -> Vec<Case> {
    let mut random = judge::values::Random::new(seed);
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

/// Shows the Metal printed from a kernel.
fn shown(case: &Case, number: u64) -> Verdict {
    match judge::printed::text(&case.kernel, number) {
        Ok(text) => println!("{text}"),
        Err(reason) => println!("// {}: {reason}", case.kernel.name),
    }
    Verdict::NotExecuted("shown".to_owned())
}

fn judge_one(case: &Case, args: &Args) -> Judged {
    let start = Instant::now();
    CURRENT
        .with(|current| *current.borrow_mut() = format!("{} of {}", case.kernel.name, case.file));
    let generated = |number| match load::program_with(&case.kernel, number) {
        Ok(module) if args.code => judge::generate(&module, &case.kernel.name),
        Ok(module) => judge::judge(&module, &case.kernel.name, args.seed),
        Err(message) => Verdict::NotExecuted(format!("not read: {message}")),
    };
    let with = |number| {
        if args.text {
            return shown(case, number);
        }
        if args.printed {
            return judge::printed::judge(&case.kernel, number, args.seed);
        }
        generated(number)
    };
    let unfinished = |verdict: &Verdict| matches!(verdict, Verdict::Same { finished: 0, .. });
    let mut verdict = with(0);
    if unfinished(&verdict) {
        // A function constant that says by how much a loop goes on must not be zero.
        let other = with(1);
        if !unfinished(&other) {
            verdict = other;
        }
    }
    Judged {
        file: case.file.clone(),
        name: case.kernel.name.clone(),
        verdict,
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Kernels by what became of them, and by reason where there is one.
#[derive(Default)]
struct Summary<'a> {
    kernels: usize,
    unread: usize,
    same: usize,
    differs: Vec<(&'a str, &'a str)>,
    /// Of kernels that finished no trial, why the first did not.
    evidence: Vec<(&'a str, &'a str)>,
    groups: BTreeMap<Fate, BTreeMap<String, Vec<&'a str>>>,
    seconds: f64,
    slowest: Option<&'a Judged>,
}

/// What can become of a kernel besides a comparison, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    NotFinished,
    NoPipeline,
    NotGenerated,
    NotExecuted,
}

impl Fate {
    const ALL: [Fate; 4] = [
        Fate::NotFinished,
        Fate::NoPipeline,
        Fate::NotGenerated,
        Fate::NotExecuted,
    ];

    const fn name(self) -> &'static str {
        match self {
            Fate::NotFinished => "no trial finished",
            Fate::NoPipeline => "not possible on the hardware",
            Fate::NotGenerated => "not generated",
            Fate::NotExecuted => "not run by the executor",
        }
    }
}

impl<'a> Summary<'a> {
    fn of(judged: &'a [Judged], unread: usize, seconds: f64) -> Summary<'a> {
        let mut summary = Summary {
            kernels: judged.len(),
            unread,
            seconds,
            slowest: judged.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)),
            ..Summary::default()
        };
        for one in judged {
            let (fate, why) = match &one.verdict {
                Verdict::Same {
                    finished: 0,
                    stopped,
                    undefined,
                    why: all,
                    ..
                } => {
                    let first = all.first().map_or("", String::as_str);
                    summary.evidence.push((&one.name, first));
                    let why = unfinished_kind(*stopped, *undefined);
                    (Fate::NotFinished, why.to_owned())
                }
                Verdict::Same { .. } => {
                    summary.same += 1;
                    continue;
                }
                Verdict::Differs(what) => {
                    summary.differs.push((&one.name, what));
                    continue;
                }
                Verdict::NoPipeline(why) => (Fate::NoPipeline, why.clone()),
                Verdict::Unsupported(why) => (Fate::NotGenerated, why.clone()),
                Verdict::NotExecuted(why) => (Fate::NotExecuted, why.clone()),
            };
            let group = summary.groups.entry(fate).or_default();
            group.entry(why).or_default().push(&one.name);
        }
        summary
    }

    fn count(&self, fate: Fate) -> usize {
        let group = self.groups.get(&fate);
        group.map_or(0, |group| group.values().map(Vec::len).sum())
    }

    /// The reasons of a fate, the most frequent first, each with a kernel to look at.
    fn reasons(&self, fate: Fate) -> Vec<(usize, &str, &'a str)> {
        let group = self.groups.get(&fate).into_iter().flatten();
        let mut rows: Vec<_> = group
            .map(|(why, names)| {
                let first = names.first().copied().unwrap_or_default();
                (names.len(), why.as_str(), first)
            })
            .collect();
        rows.sort_by_key(|(count, why, _)| (std::cmp::Reverse(*count), *why));
        rows
    }

    fn text(&self) {
        for (name, what) in &self.differs {
            println!("differs: {name}: {what}");
        }
        println!("{:<28}{:>6}", "kernels", self.kernels);
        println!("{:<28}{:>6}", "files not compiled", self.unread);
        println!("{:<28}{:>6}", "the same bytes", self.same);
        println!("{:<28}{:>6}", "different", self.differs.len());
        for fate in Fate::ALL {
            println!("{:<28}{:>6}", fate.name(), self.count(fate));
            for (count, why, first) in self.reasons(fate) {
                println!("  {count:>6}  {why} (such as {first})");
            }
        }
        println!("{:<28}{:>6.1} s (host)", "time", self.seconds);
        if let Some(one) = self.slowest {
            println!("{:<28}{:>6.1} s  {}", "slowest", one.seconds, one.name);
        }
    }

    /// The same as a section of a page.
    fn section(&self, title: &str) {
        println!("## {title}\n");
        println!(
            "| kernels | the same bytes | different | no trial finished | not possible on the hardware | not generated | not run by the executor |"
        );
        println!("|---|---|---|---|---|---|---|");
        let others = Fate::ALL.map(|fate| format!(" {} |", self.count(fate)));
        let (same, differ) = (self.same, self.differs.len());
        println!(
            "| {} | {same} | {differ} |{}\n",
            self.kernels,
            others.concat()
        );
        if self.groups.is_empty() {
            return;
        }
        println!("| | reason | kernels | such as |\n|---|---|---|---|");
        for fate in Fate::ALL {
            for (count, why, first) in self.reasons(fate) {
                println!("| {} | {why} | {count} | `{first}` |", fate.name());
            }
        }
        println!();
        for (name, why) in &self.evidence {
            println!("* `{name}`: {why}");
        }
        if !self.evidence.is_empty() {
            println!();
        }
    }
}

/// Why trials of kernels that finished none did not finish.
fn unfinished(judged: &[Judged]) {
    for one in judged {
        if let Verdict::Same {
            finished: 0, why, ..
        } = &one.verdict
        {
            for why in why {
                println!("not finished: {}: {why}", one.name);
            }
        }
    }
}

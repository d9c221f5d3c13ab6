//! Judges recipes: applies every step that is worth trying to kernels, prints the result, compiles it again and compares
//! what it computes with the original, at odd sizes and random inputs.
//!
//! ```text
//! cargo run --release -p assay-codegen --example recipes -- examples/kernels/*.metal
//! cargo run --release -p assay-codegen --example recipes -- --steps coarsen:x=4,block+threadgroup:x=64 saxpy.metal
//! cargo run --release -p assay-codegen --example recipes -- --chains 5 --seed 2 examples/kernels/*.metal
//! ```
//!
//! Exit 1 when any result is wrong.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/mod.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod judge;

use assay_front::{Kernel, Source};
use assay_rewrite::recipe::{RECIPES, Step};
use judge::load;
use judge::recipes::{Fate, Judged, Subject};
use judge::values::Random;
use rayon::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: recipes [-v] [--only NAME]... [--steps STEP[+STEP...]]... [--recipe ID]... [--chains N] [--random N] [--seed N] [-I FOLDER] [-include FILE] [-D NAME] FILE...";

#[derive(Default)]
struct Args {
    files: Vec<PathBuf>,
    only: HashSet<String>,
    steps: Vec<Vec<Step>>,
    recipes: HashSet<String>,
    /// Random chains of three steps per kernel, in place of single steps.
    chains: usize,
    /// Random kernels besides those of files.
    random: u64,
    seed: u64,
    /// A line for every step.
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
                "--only" => {
                    parsed.only.insert(value()?);
                }
                "--recipe" => {
                    parsed.recipes.insert(value()?);
                }
                "--steps" => {
                    let text = value()?;
                    let steps = text.split('+').map(|step| step.parse::<Step>());
                    let steps = steps.collect::<Result<_, _>>();
                    parsed.steps.push(steps.map_err(|error| error.to_string())?);
                }
                "--chains" => parsed.chains = number(value()?)? as usize,
                "--random" => parsed.random = number(value()?)?,
                "--seed" => parsed.seed = number(value()?)?,
                "-D" => parsed.build.defines.push(value()?),
                "-include" => parsed.build.before.push(value()?.into()),
                "-I" => parsed.build.include.push(value()?.into()),
                _ if arg.starts_with('-') => return Err(format!("{arg} is no option")),
                _ => parsed.files.push(arg.into()),
            }
        }
        match parsed.files.is_empty() && parsed.random == 0 {
            true => Err("name a file".to_owned()),
            false => Ok(parsed),
        }
    }
}

/// What became of a kernel.
struct Report {
    kernel: String,
    outcome: Result<Vec<Judged>, String>,
    /// Recipes that offered nothing: id, kind, sentence.
    refused: Vec<(&'static str, &'static str, String)>,
}

fn main() -> ExitCode {
    let args = match Args::parse() {
        Ok(args) => args,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut kernels: Vec<Kernel> = Vec::new();
    for file in &args.files {
        match load::library(file, &args.build) {
            Ok(library) => kernels.extend(library.kernels().iter().cloned()),
            Err(error) => eprintln!("not compiled: {error}"),
        }
    }
    let made: Vec<Option<Kernel>> = (0..args.random)
        .into_par_iter()
        .map(|at| random(args.seed.wrapping_mul(1_000_003) + at))
        .collect();
    kernels.extend(made.into_iter().flatten());
    kernels.retain(|kernel| args.only.is_empty() || args.only.contains(&kernel.name));
    let reports: Vec<Report> = kernels
        .par_iter()
        .map(|kernel| report(kernel, &args))
        .collect();
    let wrong = summary(&reports, args.verbose);
    match wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}

/// A random kernel, compiled.
fn random(seed: u64) -> Option<Kernel> {
    let text = judge::random::kernel(seed);
    let source = Source {
        path: Path::new("random.metal"),
        text: text.as_bytes(),
    };
    match load::compiled(source, &load::Build::default()) {
        Ok(library) => library.kernels().first().cloned(),
        Err(error) => {
            eprintln!("not compiled: {error}\n{text}");
            None
        }
    }
}

fn report(kernel: &Kernel, args: &Args) -> Report {
    let mut report = Report {
        kernel: kernel.name.clone(),
        outcome: Err(String::new()),
        refused: Vec::new(),
    };
    let subject = Subject::new(kernel, 0, args.seed);
    let subject = subject.or_else(|why| Subject::new(kernel, 1, args.seed).map_err(|_| why));
    let mut subject = match subject {
        Ok(subject) => subject,
        Err(why) => {
            report.outcome = Err(why);
            return report;
        }
    };
    let chains = if !args.steps.is_empty() {
        args.steps.clone()
    } else if args.chains > 0 {
        chains(&subject, args)
    } else {
        let mut single = Vec::new();
        for choice in subject.choices() {
            let id = choice.recipe.id;
            if !args.recipes.is_empty() && !args.recipes.contains(id) {
                continue;
            }
            match choice.steps {
                Ok(steps) => single.extend(steps.into_iter().map(|step| vec![step])),
                Err(refusal) => report.refused.push((id, refusal.kind.id(), refusal.why)),
            }
        }
        single
    };
    report.outcome = Ok(chains.iter().map(|steps| subject.judge(steps)).collect());
    report
}

/// Random chains of up to three steps that apply one after the other.
fn chains(subject: &Subject, args: &Args) -> Vec<Vec<Step>> {
    let mut random = Random::new(args.seed);
    let mut chains = Vec::new();
    for _ in 0..args.chains {
        let mut chain: Vec<Step> = Vec::new();
        for _ in 0..3 {
            let mut offered = subject.choices_after(&chain);
            // One step of each recipe is as likely as one of any other.
            let ids: Vec<&str> = RECIPES.iter().map(|recipe| recipe.id).collect();
            let there: Vec<&str> = ids
                .into_iter()
                .filter(|id| offered.iter().any(|step| step.recipe().id == *id))
                .collect();
            if there.is_empty() {
                break;
            }
            let id = there[random.below(there.len() as u64) as usize];
            offered.retain(|step| step.recipe().id == id);
            chain.push(offered[random.below(offered.len() as u64) as usize].clone());
        }
        if !chain.is_empty() {
            chains.push(chain);
        }
    }
    chains
}

/// What became of a recipe.
#[derive(Default)]
struct Row {
    kernels: usize,
    steps: usize,
    right: usize,
    undecided: usize,
    not_printed: usize,
    wrong: usize,
    refused: BTreeMap<String, usize>,
}

fn summary(reports: &[Report], verbose: bool) -> usize {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut not_judged: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = 0;
    for report in reports {
        for (id, kind, why) in &report.refused {
            let row = rows.entry((*id).to_owned()).or_default();
            *row.refused.entry((*kind).to_owned()).or_default() += 1;
            if verbose {
                println!("{}\t{id}\trefused\t{kind}: {why}", report.kernel);
            }
        }
        let judged = match &report.outcome {
            Ok(judged) => judged,
            Err(why) => {
                *not_judged
                    .entry(why.split(':').next().unwrap_or_default())
                    .or_default() += 1;
                continue;
            }
        };
        let mut seen = HashSet::new();
        for one in judged {
            let ids: Vec<&str> = one.steps.iter().map(|step| step.recipe().id).collect();
            let id = if ids.len() > 1 { "chains" } else { ids[0] };
            let row = rows.entry(id.to_owned()).or_default();
            row.steps += 1;
            row.kernels += usize::from(seen.insert(id));
            let text: Vec<String> = one.steps.iter().map(ToString::to_string).collect();
            let text = text.join("+");
            match &one.fate {
                Fate::Right(_) => row.right += 1,
                Fate::Undecided(_) => row.undecided += 1,
                Fate::NotPrinted(_) => row.not_printed += 1,
                Fate::Refused(kind, _) => {
                    *row.refused.entry(kind.id().to_owned()).or_default() += 1
                }
                Fate::Wrong(what) => {
                    row.wrong += 1;
                    wrong += 1;
                    println!("wrong: {} {text}: {what}", report.kernel);
                }
            }
            if verbose {
                let fate = format!("{:?}", one.fate).replace('\n', " ");
                println!(
                    "{}\t{text}\t{}",
                    report.kernel,
                    fate.chars().take(200).collect::<String>()
                );
            }
        }
    }
    println!("kernels {}", reports.len());
    for (why, count) in not_judged {
        println!("  not judged {count}: {why}");
    }
    println!("recipe\tkernels\tsteps\tright\tundecided\tnot printed\twrong\trefused by reason");
    for (id, row) in &rows {
        let refused: Vec<String> = row
            .refused
            .iter()
            .map(|(k, n)| format!("{k} {n}"))
            .collect();
        println!(
            "{id}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            row.kernels,
            row.steps,
            row.right,
            row.undecided,
            row.not_printed,
            row.wrong,
            refused.join(", ")
        );
    }
    wrong
}

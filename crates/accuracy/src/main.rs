//! `accuracy`: cases, fits and tables of predicted against measured GPU times.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use assay_accuracy::build::{self, Sources};
use assay_accuracy::{Cases, Result, Set, sets};
use clap::{Parser, Subcommand};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Predicted GPU times against published measurements
///
/// Example: accuracy cases --sources corpus/sources --fixtures ../shared/fixtures/measured
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Folder of checkouts named repository@commit
    #[arg(long, global = true, default_value = "corpus/sources")]
    sources: PathBuf,

    /// Folder of the published measurements
    #[arg(long, global = true, default_value = "../shared/fixtures/measured")]
    fixtures: PathBuf,

    /// Folder for what can be made again
    #[arg(long, global = true, default_value = "target/accuracy")]
    cache: PathBuf,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile every case; list what became one and what did not, by reason
    Cases,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Cases => cases(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

fn cases(args: &Args) -> Result<()> {
    let all = sets::read(&args.fixtures, &Set::ALL)?;
    let sources = Sources::open(&args.sources, &args.cache.join("headers"))?;
    let checked: Vec<(String, Option<String>)> = all
        .cases
        .par_iter()
        .map(|case| {
            let problem = check(case, &sources).err().map(|error| error.to_string());
            (case.id.clone(), problem)
        })
        .collect();
    for (id, problem) in &checked {
        if let Some(problem) = problem {
            println!("{id}: {}", problem.lines().next().unwrap_or_default());
        }
    }
    summary(&all, &checked);
    Ok(())
}

fn check(case: &assay_accuracy::Case, sources: &Sources) -> Result<()> {
    let bitcode = sources.bitcode(case)?;
    for pass in &case.passes {
        let program = build::program(&bitcode.code, pass)?;
        let bytes = program.threadgroup_bytes.unwrap_or(0);
        if let Some(reason) = sets::contradiction(case, bytes) {
            let recorded = case.recorded_threadgroup_bytes.unwrap_or(0);
            return Err(format!("{reason} ({recorded} recorded, {bytes} compiled)").into());
        }
    }
    Ok(())
}

fn summary(all: &Cases, checked: &[(String, Option<String>)]) {
    let mut counts: BTreeMap<(Set, String), usize> = BTreeMap::new();
    for row in &all.excluded {
        *counts.entry((row.set, row.reason.clone())).or_default() += 1;
    }
    for (case, (_, problem)) in all.cases.iter().zip(checked) {
        let verdict = if problem.is_some() {
            "does not compile"
        } else {
            "case"
        };
        *counts.entry((case.set, verdict.to_owned())).or_default() += 1;
    }
    for ((set, verdict), count) in counts {
        println!("{:16} {count:5}  {verdict}", set.name());
    }
}

//! Judges what is known of G15's instruction set: decodes programs for M4 and A18 Pro, runs
//! them in the emulator and their Metal source on the executor, on the same buffers, and
//! compares every byte.
//!
//! ```text
//! cargo run --release -p assay-codegen --example newer -- CORPUS            what became of each program
//! cargo run --release -p assay-codegen --example newer -- --standing CORPUS crates/agx/STANDING.md
//! cargo run --release -p assay-codegen --example newer -- --proofs CORPUS   crates/agx/src/table/g15/proofs.rs
//! cargo run --release -p assay-codegen --example newer -- --score SET HELD  rows for newer_held.tsv
//! ```
//!
//! CORPUS is a folder with `hex/NAME.hex` and `metal/FILE.metal`. No machine code or source of
//! others is part of the repository: `newer.tsv` has the names, how each is launched, which constants the driver would preload,
//! and for programs that are not compared the reason. HELD is such a folder of programs that were set aside, with a `list.tsv` of its
//! own; they prove nothing. Exit 1 when a program differs from its source or has no row.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

mod launch;
#[path = "../../tests/judge/load.rs"]
#[allow(dead_code, reason = "the other judge uses the rest")]
mod load;
mod standing;

use assay_agx::{Instruction, Isa, Item, Op};
use launch::{Row, compare, rows};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: newer [--standing | --proofs | --score SET] [--only NAME] CORPUS";
const TABLE: &str = include_str!("../newer.tsv");
const SCORES: &str = include_str!("../newer_held.tsv");

fn main() -> ExitCode {
    let mut how = How::Report;
    let mut corpus = None;
    let mut only = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--standing" => how = How::Standing,
            "--proofs" => how = How::Proofs,
            "--score" => how = How::Score(args.next().unwrap_or_default()),
            "--only" => only = args.next(),
            _ => corpus = Some(PathBuf::from(arg)),
        }
    }
    let Some(corpus) = corpus else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let list = std::fs::read_to_string(corpus.join("list.tsv")).ok();
    let table = list.as_deref().unwrap_or(TABLE);
    let judged = judge_all(&corpus, table, only.as_deref());
    match &how {
        How::Report => standing::report(&judged),
        How::Standing => standing::standing(&judged, SCORES),
        How::Proofs => standing::proofs(&judged),
        How::Score(set) => standing::scores(set, &judged),
    }
    let wrong = judged.iter().any(|program| match &program.fate {
        Fate::Agrees => false,
        Fate::Differs(_) => true,
        Fate::NotRun(why) => why == NO_ROW,
    });
    ExitCode::from(u8::from(wrong))
}

enum How {
    Report,
    Standing,
    Proofs,
    Score(String),
}

/// The reason of a program that the table forgot.
const NO_ROW: &str = "newer.tsv has no row for it";

fn judge_all(corpus: &Path, table: &str, only: Option<&str>) -> Vec<Judged> {
    let rows = rows(table);
    names(corpus)
        .iter()
        .filter(|name| only.is_none_or(|only| name.contains(only)))
        .map(|name| {
            let mut judged = judge(corpus, name, rows.get(name.as_str()));
            if let Some(why) = reason(table, name) {
                judged.fate = Fate::NotRun(why.to_owned());
            }
            judged
        })
        .collect()
}

/// Why a program is not compared, as its row says: `NAME`, `-`, the reason.
fn reason<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table
        .lines()
        .find_map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [program, "-", why] if program == name => Some(why),
            _ => None,
        })
}

fn names(corpus: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(corpus.join("hex"));
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(".hex")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

/// What became of a program.
enum Fate {
    /// Every byte of every buffer is the source's.
    Agrees,
    Differs(String),
    /// Not run, for this reason.
    NotRun(String),
}

struct Judged {
    name: String,
    instructions: Vec<Instruction>,
    /// Bytes that are no instruction.
    undecoded: usize,
    /// The last instruction ends at the last byte and is `stop`.
    whole: bool,
    fate: Fate,
}

fn judge(corpus: &Path, name: &str, row: Option<&Row>) -> Judged {
    let text = std::fs::read_to_string(corpus.join("hex").join(format!("{name}.hex")));
    let code = unhex(text.unwrap_or_default().trim());
    let mut judged = Judged {
        name: name.to_owned(),
        instructions: Vec::new(),
        undecoded: 0,
        whole: false,
        fate: Fate::NotRun(NO_ROW.to_owned()),
    };
    for (_, item) in assay_agx::walk(Isa::G15, &code) {
        match item {
            Item::Known(instruction) => judged.instructions.push(instruction),
            other => judged.undecoded += other.len(),
        }
    }
    let last = judged.instructions.last().map(Instruction::op);
    judged.whole = judged.undecoded == 0 && last == Some(Op::Stop);
    if let Some(row) = row {
        judged.fate = compare(corpus, &code, row);
    }
    judged
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    digits
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

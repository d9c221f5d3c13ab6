//! Judges what is known of G15's instruction set: decodes programs for M4 and A18 Pro, runs
//! them in the emulator and their Metal source on the executor, on the same buffers, and
//! compares every byte.
//!
//! ```text
//! cargo run --release -p assay-codegen --example newer -- CORPUS            what became of each program
//! cargo run --release -p assay-codegen --example newer -- --standing CORPUS crates/agx/STANDING.md
//! cargo run --release -p assay-codegen --example newer -- --proofs CORPUS   crates/agx/src/table/g15/proofs.rs
//! ```
//!
//! CORPUS is a folder with `hex/NAME.hex` and `metal/FILE.metal`. No machine code or source of
//! others is part of the repository (`--held FOLDER` adds programs that were set aside while the table was
//! made, with a `list.tsv` of their own; they prove nothing): `newer.tsv` has the names, how each is launched and which
//! constants the driver would preload. Exit 1 when a program differs from its source.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/load.rs"]
#[allow(dead_code, reason = "the other judge uses the rest")]
mod load;

use assay_agx::{Family, Instruction, Isa, Item, Op, Program, Standing, forms_of};
use assay_emu::{DeviceMemory, Launch};
use assay_exec::{Bindings, Buffer, Grid, Limits};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: newer [--standing | --proofs] [--only NAME] [--held FOLDER] CORPUS";
const TABLE: &str = include_str!("newer.tsv");

fn main() -> ExitCode {
    let mut how = How::Report;
    let mut corpus = None;
    let mut only = None;
    let mut held = None;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--standing" => how = How::Standing,
            "--proofs" => how = How::Proofs,
            "--only" => only = args.next(),
            "--held" => held = args.next().map(PathBuf::from),
            _ => corpus = Some(PathBuf::from(arg)),
        }
    }
    let Some(corpus) = corpus else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let judged = judge_all(&corpus, TABLE, only.as_deref());
    let held = held.map(|folder| {
        let list = std::fs::read_to_string(folder.join("list.tsv")).unwrap_or_default();
        judge_all(&folder, &list, only.as_deref())
    });
    let differs = judged
        .iter()
        .any(|program| matches!(program.fate, Fate::Differs(_)));
    match how {
        How::Report => {
            report(&judged);
            if let Some(held) = &held {
                println!("\nset aside");
                report(held);
            }
        }
        How::Standing => standing(&judged, held.as_deref().unwrap_or_default()),
        How::Proofs => proofs(&judged),
    }
    ExitCode::from(u8::from(differs))
}

enum How {
    Report,
    Standing,
    Proofs,
}

fn judge_all(corpus: &Path, table: &str, only: Option<&str>) -> Vec<Judged> {
    let rows = rows(table);
    names(corpus)
        .iter()
        .filter(|name| only.is_none_or(|only| name.contains(only)))
        .map(|name| {
            let mut judged = judge(corpus, name, rows.get(name.as_str()));
            if let Some(why) = reasons(table, name) {
                judged.fate = Fate::NotRun(why.to_owned());
            }
            judged
        })
        .collect()
}

/// Why a program is not compared, as its row says: `NAME`, `-`, the reason.
fn reasons<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table
        .lines()
        .find_map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [program, "-", why] if program == name => Some(why),
            _ => None,
        })
}

/// A row of `newer.tsv`.
struct Row {
    file: String,
    kernel: String,
    grid: u32,
    group: u32,
    buffers: Vec<(String, usize)>,
    uniforms: Vec<(u16, Vec<u8>)>,
}

fn rows(table: &str) -> BTreeMap<&str, Row> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| row(line.split('\t').collect()))
        .collect()
}

fn row(columns: Vec<&str>) -> Option<(&str, Row)> {
    let [name, file, kernel, grid, group, buffers, uniforms] = columns[..] else {
        return None;
    };
    let buffers = buffers.split(' ').filter_map(|buffer| {
        let (kind, count) = buffer.split_once(':')?;
        Some((kind.to_owned(), count.parse().ok()?))
    });
    let uniforms = uniforms.split(' ').filter_map(uniform);
    let row = Row {
        file: file.to_owned(),
        kernel: kernel.to_owned(),
        grid: grid.parse().ok()?,
        group: group.parse().ok()?,
        buffers: buffers.collect(),
        uniforms: uniforms.collect(),
    };
    Some((name, row))
}

/// `u4=0xff00ff00` or `u4l=0xfff6`.
fn uniform(text: &str) -> Option<(u16, Vec<u8>)> {
    let (name, value) = text.split_once('=')?;
    let value = u32::from_str_radix(value.strip_prefix("0x")?, 16).ok()?;
    let number = name.strip_prefix('u')?;
    let half = |digits: &str| Some(digits.parse::<u16>().ok()? * 2);
    match (number.strip_suffix('l'), number.strip_suffix('h')) {
        (Some(digits), _) => Some((half(digits)?, (value as u16).to_le_bytes().to_vec())),
        (_, Some(digits)) => Some((half(digits)? + 1, (value as u16).to_le_bytes().to_vec())),
        _ => Some((half(number)?, value.to_le_bytes().to_vec())),
    }
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
        fate: Fate::NotRun("its source is not in the corpus".to_owned()),
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

fn compare(corpus: &Path, code: &[u8], row: &Row) -> Fate {
    let path = corpus.join("metal").join(format!("{}.metal", row.file));
    let buffers: Vec<Vec<u8>> = row
        .buffers
        .iter()
        .enumerate()
        .map(|(index, (kind, count))| contents(kind, *count, index as u64))
        .collect();
    let expected = match execute(&path, row, &buffers) {
        Ok(expected) => expected,
        Err(why) => return Fate::NotRun(format!("the executor: {why}")),
    };
    let got = match emulate(code, row, &buffers, true) {
        Ok(got) => got,
        // Apple's compiler reads whole registers of which it uses the half that was written.
        Err(why) if why.contains("never written") => match emulate(code, row, &buffers, false) {
            Ok(got) => got,
            Err(why) => return Fate::NotRun(why),
        },
        Err(why) => return Fate::NotRun(why),
    };
    for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
        let at = expected.iter().zip(got).position(|(a, b)| a != b);
        if let Some(at) = at {
            let word = at & !3;
            let show = |bytes: &[u8]| {
                let word = bytes.get(word..).and_then(|rest| rest.first_chunk());
                word.map_or(0, |word| u32::from_le_bytes(*word))
            };
            let count = expected.iter().zip(got).filter(|(a, b)| a != b).count();
            return Fate::Differs(format!(
                "buffer {index} byte {at}: {:#010x} is right, {:#010x} came out; {count} bytes differ",
                show(expected),
                show(got)
            ));
        }
    }
    Fate::Agrees
}

/// What a buffer holds before the launch: the same for both, whatever the machine.
fn contents(kind: &str, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut mixed = state;
        mixed ^= mixed >> 33;
        mixed = mixed.wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 33
    };
    let mut float = {
        let mut random = random;
        move || ((random() >> 40) as f32 / (1 << 24) as f32 - 0.5) * 16.0
    };
    let mut bytes = Vec::new();
    for place in 0..count {
        match kind {
            "f32" => bytes.extend(float().to_le_bytes()),
            // Sums of these are exact in any order.
            "whole" => bytes.extend((float() * 4.0).trunc().to_le_bytes()),
            "f16" => bytes.extend(half(float()).to_le_bytes()),
            "bf16" => bytes.extend(((float().to_bits() >> 16) as u16).to_le_bytes()),
            "u16" => bytes.extend((random() as u16).to_le_bytes()),
            "u64" => bytes.extend(random().to_le_bytes()),
            "zero" => bytes.extend([0; 4]),
            "bit" => bytes.extend(u32::from(random() >> 13 & 7 != 0).to_le_bytes()),
            "small" => bytes.extend(((random() >> 20) as i32 % 300 - 150).to_le_bytes()),
            "count" => bytes.extend(((random() >> 20) as i32 % 40 - 4).to_le_bytes()),
            // Integers of every size, zero and the extremes among them.
            _ => {
                let value = match place % 8 {
                    0 => [0, 1, u32::MAX, 0x8000_0000, 0x7fff_ffff][place / 8 % 5],
                    1 | 2 => random() as u32 >> (random() % 32),
                    _ => random() as u32,
                };
                bytes.extend(value.to_le_bytes());
            }
        }
    }
    bytes
}

/// A half with the value of a single that has few digits: cut off, not rounded.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
    match exponent {
        1..=30 => sign | (exponent as u16) << 10 | (bits >> 13) as u16 & 0x3ff,
        _ => sign,
    }
}

fn execute(path: &Path, row: &Row, buffers: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
    let library = load::library(path, &load::Build::default())?;
    let kernel = library
        .kernels()
        .iter()
        .find(|kernel| kernel.name == row.kernel)
        .ok_or("the source has no such kernel")?;
    let module = load::program(kernel)?;
    let program = assay_exec::Program::compile(&module, &row.kernel, &Default::default());
    let program = program.map_err(|error| error.to_string())?;
    let mut bindings = Bindings::new();
    for (index, bytes) in buffers.iter().enumerate() {
        bindings.set(index as u32, Buffer::from_bytes(bytes));
    }
    let grid = Grid::threads([row.grid, 1, 1], [row.group, 1, 1]);
    let run = program.run(&grid, &mut bindings, &Limits::default());
    run.map_err(|error| error.to_string())?;
    Ok((0..buffers.len() as u32)
        .map(|index| {
            let buffer = bindings.get(index);
            buffer.map_or_else(Vec::new, |buffer| buffer.bytes().to_vec())
        })
        .collect())
}

fn emulate(
    code: &[u8],
    row: &Row,
    buffers: &[Vec<u8>],
    strict: bool,
) -> Result<Vec<Vec<u8>>, String> {
    let program = Program {
        code: code.to_vec(),
        ..Program::new(Isa::G15, &row.kernel)
    };
    let mut memory = DeviceMemory::new();
    let mut launch = Launch::new([row.grid, 1, 1], [row.group, 1, 1]);
    launch.threadgroup_bytes = Some(32 << 10);
    launch.lenient = !strict;
    let mut placed = Vec::new();
    for (index, bytes) in buffers.iter().enumerate() {
        let id = memory.add(bytes).map_err(|error| error.to_string())?;
        let address = memory.address(id).to_le_bytes();
        let set = launch.uniforms.set_bytes(index as u16 * 4, &address);
        set.map_err(|error| error.to_string())?;
        placed.push(id);
    }
    for (half, bytes) in &row.uniforms {
        let set = launch.uniforms.set_bytes(*half, bytes);
        set.map_err(|error| error.to_string())?;
    }
    match assay_emu::run(&program, &launch, &memory) {
        Ok(_) => Ok(placed.iter().map(|id| memory.bytes(*id)).collect()),
        Err(error) => Err(error.to_string()),
    }
}

/// Forms by name and length: instructions, programs, and one of the programs.
type Evidence = BTreeMap<(String, u8), (u32, BTreeSet<String>)>;

fn evidence(judged: &[Judged], wanted: impl Fn(&Judged) -> bool) -> Evidence {
    let mut found = Evidence::new();
    for program in judged.iter().filter(|program| wanted(program)) {
        for instruction in &program.instructions {
            let key = (instruction.mnemonic().to_owned(), instruction.len() as u8);
            let entry = found.entry(key).or_default();
            entry.0 += 1;
            entry.1.insert(program.name.clone());
        }
    }
    found
}

fn report(judged: &[Judged]) {
    for program in judged {
        let fate = match &program.fate {
            Fate::Agrees => "agrees".to_owned(),
            Fate::Differs(why) => format!("DIFFERS: {why}"),
            Fate::NotRun(why) => format!("not run: {why}"),
        };
        let whole = if program.whole {
            ""
        } else {
            " (does not end at `stop`)"
        };
        println!(
            "{:<44} {:3} instructions{whole}  {fate}",
            program.name,
            program.instructions.len()
        );
    }
    println!("{}", summary(judged));
}

fn summary(judged: &[Judged]) -> String {
    let whole = judged.iter().filter(|program| program.whole).count();
    let all = judged.iter().flat_map(|program| &program.instructions);
    let known = all
        .clone()
        .filter(|instruction| instruction.op() != Op::Unknown);
    let (known, all) = (known.count(), all.count());
    let agree = judged
        .iter()
        .filter(|program| matches!(program.fate, Fate::Agrees))
        .count();
    format!(
        "{} programs, {whole} of them whole to `stop`; {known} of {all} instructions with text ({:.1} %); \
         {agree} programs give the bytes of their source",
        judged.len(),
        100.0 * known as f64 / all.max(1) as f64
    )
}

fn agrees(program: &Judged) -> bool {
    matches!(program.fate, Fate::Agrees)
}

fn standing(judged: &[Judged], held: &[Judged]) {
    let proven = evidence(judged, agrees);
    let seen = evidence(judged, |_| true);
    let mut text = String::from(
        "# What is known of G15's instruction set, and what it rests on\n\n\
         Made by `cargo run --release -p assay-codegen --example newer -- --standing CORPUS`. The corpus is \
         public machine code for M4 (G16G) and A18 Pro (G17P) with its Metal source \
         (ADevWithAnIdea/agx-re); nothing of it is in this repository. A program *agrees* when its \
         machine code, emulated with every register and wait checked (a program that stops there, at a \
         register half nobody wrote, is run again without that check), leaves in every buffer the bytes \
         that its source leaves on the executor. Some sources were written anew from what the programs \
         are called. Launches and preloaded constants: \
         `crates/codegen/examples/newer.tsv`.\n\n",
    );
    let _ = writeln!(text, "{}.\n", summary(judged));
    text.push_str("| instruction | bytes | standing | in agreeing programs | in all programs |\n|---|---|---|---|---|\n");
    let mut done = BTreeSet::new();
    for (name, length, stated) in forms_of(Family::G15) {
        if !done.insert((name, length)) {
            continue;
        }
        let key = (name.to_owned(), length);
        let count = |found: &Evidence| match found.get(&key) {
            Some((instructions, programs)) => format!("{instructions} in {}", programs.len()),
            None => "–".to_owned(),
        };
        let now = match (stated, proven.contains_key(&key)) {
            (Standing::LengthOnly, _) => Standing::LengthOnly,
            (_, true) => Standing::Proven,
            _ => Standing::Read,
        };
        let _ = writeln!(
            text,
            "| `{name}` | {length} | {} | {} | {} |",
            now.name(),
            count(&proven),
            count(&seen)
        );
    }
    text.push_str("\n## Programs\n\n");
    programs(&mut text, judged);
    if !held.is_empty() {
        let _ = write!(
            text,
            "\n## Set aside\n\nChosen before the table was filled and scored once, when it was done: {}.\n\n",
            summary(held)
        );
        programs(&mut text, held);
    }
    print!("{text}");
}

fn programs(text: &mut String, judged: &[Judged]) {
    text.push_str("| program | instructions | outcome |\n|---|---|---|\n");
    for program in judged {
        let fate = match &program.fate {
            Fate::Agrees => "agrees".to_owned(),
            Fate::Differs(why) => format!("differs: {why}"),
            Fate::NotRun(why) => format!("not compared: {why}"),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            program.name,
            program.instructions.len(),
            fate.replace('|', "\\|")
        );
    }
}

fn proofs(judged: &[Judged]) {
    let mut rows = String::new();
    for ((name, length), (instructions, programs)) in evidence(judged, agrees) {
        let example = programs.iter().next().map_or("", String::as_str);
        let _ = writeln!(
            rows,
            "    proof(\"{name}\", {length}, ({instructions}, {}), \"{example}\"),",
            programs.len()
        );
    }
    println!("pub(crate) static PROVEN: &[Proof] = &[\n{rows}];");
}

//! Generated code beside Mesa's: instructions, cycles by Mesa's own cost table, registers,
//! cycles of the hottest loop, for the kernels of `quality.txt`.
//!
//! ```text
//! cargo run --release -p assay-codegen --example quality > crates/codegen/QUALITY.md
//! ```
//!
//! Mesa's side are listings and statistics of its compiler for G13, looked for in
//! `fixtures`; ours is `examples/kernels` compiled as Metal compiles by default, with
//! fast math, for the same instruction set: OpenCL's division, which Mesa compiled, may be off
//! by 2.5 units and is a reciprocal and a product too.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../tests/judge/load.rs"]
#[allow(dead_code, reason = "the judge uses the rest")]
mod load;

use assay_agx::{Isa, Program, UniformConstants};
use assay_chip::{Chip, CostModel};
use assay_profile::{Options, Profile};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What is compared.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    instructions: f64,
    alu: f64,
    /// The same with loops of known length in full.
    weighted: f64,
    half_registers: f64,
    preamble: f64,
    loops: usize,
    /// Cycles of one iteration of the hottest loop.
    hot_loop: Option<f64>,
}

fn figures(program: &Program) -> Result<Figures, String> {
    let chip = Chip::named("m1").map_err(|error| error.to_string())?;
    let options = Options {
        costs: CostModel::Mesa,
        ..Options::new(chip)
    };
    let profile = Profile::new(program, &options).map_err(|error| error.to_string())?;
    let main = &profile.main;
    let preamble = profile.constant_program.as_ref();
    Ok(Figures {
        instructions: f64::from(main.instructions),
        alu: main.once.alu().known,
        weighted: main.weighted.alu().known,
        half_registers: f64::from(profile.occupancy.half_registers),
        preamble: preamble.map_or(0.0, |part| f64::from(part.instructions)),
        loops: main.loops.len(),
        hot_loop: main.hot_loop().map(|report| report.costs.alu().known),
    })
}

/// Mesa's program: `offset ⇥ hex ⇥ …` and a JSON file beside it.
fn mesa(folder: &Path, name: &str) -> Result<Program, String> {
    let code = |suffix: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}{suffix}"))).ok()?;
        let hex = text.lines().filter(|line| !line.starts_with('#'));
        let bytes = hex
            .filter_map(|line| line.split('\t').nth(1))
            .flat_map(unhex);
        Some(bytes.collect::<Vec<u8>>())
    };
    let text = std::fs::read_to_string(folder.join(format!("{name}.json")))
        .map_err(|error| format!("{name}.json: {error}"))?;
    let facts: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{name}.json: {error}"))?;
    let mut program = Program::new(Isa::G13, name);
    program.code = code(".tsv").ok_or(format!("{name}.tsv is missing"))?;
    program.constant_program = code(".preamble.tsv").unwrap_or_default();
    if let Some(hex) = facts["rodata"]["hex"].as_str() {
        let bytes: Vec<u8> = unhex(hex).collect();
        program.constants = vec![UniformConstants {
            first_half: facts["rodata"]["base_uniform"].as_u64().unwrap_or(0) as u16,
            values: bytes
                .chunks_exact(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect(),
        }];
    }
    Ok(program)
}

fn unhex(text: &str) -> impl Iterator<Item = u8> {
    let digits = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.filter_map(byte).collect::<Vec<u8>>().into_iter()
}

fn ours(folder: &Path, name: &str) -> Result<Program, String> {
    let library = load::library(
        &folder.join(format!("{name}.metal")),
        &load::Build::default(),
    )?;
    let kernel = library.kernel(name).map_err(|error| error.to_string())?;
    let module = load::program(kernel)?;
    assay_codegen::generate(&module, name, &Default::default()).map_err(|error| error.to_string())
}

/// Geometric mean of ratios.
#[derive(Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, ours: f64, mesas: f64) {
        if ours > 0.0 && mesas > 0.0 {
            self.sum += (ours / mesas).ln();
            self.count += 1;
        }
    }

    fn show(&self) -> String {
        match self.count {
            0 => "–".to_owned(),
            count => format!("**{:.2}**", (self.sum / count as f64).exp()),
        }
    }
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fixtures: PathBuf = root.join("fixtures/agx/mesa");
    let names: Vec<&str> = include_str!("quality.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    println!("# Generated code beside Mesa's\n");
    println!(
        "Kernels of [quality.txt](examples/quality.txt), G13 code, cycles by Mesa's cost table, \
         every instruction once, and with loops of known length in full;\n`cargo run --release -p assay-codegen --example quality` makes this \
         page. Each cell is *ours / Mesa's*; *loop* is one\niteration of the hottest loop, given when both \
         sides have as many loops. Mesa unrolls more than we do, so *in full* is the fairer sum; a loop whose \
         length\nnobody can see counts once. Both sides divide by reciprocals: ours is compiled with fast math, Metal's default, \
         and OpenCL allows as much.\nMesa's code takes\nscalars by value in uniforms, ours \
         loads them in the constant program.\n"
    );
    println!(
        "| kernel | instructions | constant program | ALU cycles | in full | half-registers | loop cycles |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut means: [Mean; 5] = Default::default();
    let mut refused = Vec::new();
    for name in &names {
        let both = mesa(&fixtures, name)
            .and_then(|program| figures(&program))
            .and_then(|theirs| {
                let mine = figures(&ours(&root.join("examples/kernels"), name)?)?;
                Ok((mine, theirs))
            });
        let (mine, theirs) = match both {
            Ok(both) => both,
            Err(message) => {
                refused.push(format!("{name}: {message}"));
                continue;
            }
        };
        means[0].add(mine.instructions, theirs.instructions);
        means[1].add(mine.alu, theirs.alu);
        means[2].add(mine.half_registers, theirs.half_registers);
        let comparable = mine.loops == theirs.loops;
        let hot = mine.hot_loop.zip(theirs.hot_loop).filter(|_| comparable);
        if let Some((mine, theirs)) = hot {
            means[3].add(mine, theirs);
        }
        means[4].add(mine.weighted, theirs.weighted);
        println!(
            "| {name} | {} / {} | {} / {} | {} / {} | {} / {} | {} / {} | {} |",
            mine.instructions,
            theirs.instructions,
            mine.preamble,
            theirs.preamble,
            mine.alu,
            theirs.alu,
            mine.weighted,
            theirs.weighted,
            mine.half_registers,
            theirs.half_registers,
            hot.map_or("–".to_owned(), |(mine, theirs)| format!(
                "{mine} / {theirs}"
            ))
        );
    }
    let [instructions, alu, registers, loops, weighted] = &means;
    println!(
        "| **geometric mean** of {} | {} | | {} | {} | {} | {} |",
        instructions.count,
        instructions.show(),
        alu.show(),
        weighted.show(),
        registers.show(),
        loops.show()
    );
    if !refused.is_empty() {
        println!("\nNot compared:\n");
        for line in &refused {
            println!("- {line}");
        }
    }
    ExitCode::SUCCESS
}

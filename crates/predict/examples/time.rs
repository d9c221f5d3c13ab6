//! Predicts the time of one kernel of a Metal source file, with every step shown.
//!
//! ```text
//! cargo run --release -p assay-predict --example time -- examples/kernels/saxpy.metal saxpy \
//!     1048576 256 f32:4194304 f32:4194304 u32:1048576 real:2.0
//! ```
//!
//! Grid and threadgroup are `X`, `X,Y` or `X,Y,Z`; then the buffers in order of their index:
//! `f32:BYTES`, `normal:BYTES`, `f16:BYTES`, `zero:BYTES`, `index:BYTES:BOUND` or a value `u32:N`, `real:X`;
//! `local:BYTES` gives threadgroup memory.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

#[path = "../../codegen/tests/judge/load.rs"]
#[allow(dead_code, reason = "the judge uses the rest")]
mod load;

use assay_chip::Chip;
use assay_emu::Fill;
use assay_predict::{
    Argument, Cache, CommandBuffer, Constants, Dispatch, Memory, Sampling, execute, predict,
};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

fn axes(text: &str) -> Result<[u32; 3], String> {
    let mut axes = [1; 3];
    for (axis, part) in axes.iter_mut().zip(text.split(',')) {
        *axis = part.parse().map_err(|_| format!("bad size {text}"))?;
    }
    Ok(axes)
}

fn argument(text: &str, seed: u64, memory: &mut Memory) -> Result<Argument, String> {
    let mut parts = text.split(':');
    let kind = parts.next().unwrap_or_default();
    let value = parts.next().ok_or(format!("{text}: nothing after `:`"))?;
    let bytes = || value.parse::<u64>().map_err(|_| format!("bad size {text}"));
    let fill = match kind {
        "u32" => {
            let number: u32 = value.parse().map_err(|_| format!("bad number {text}"))?;
            return Ok(Argument::Bytes(number.to_le_bytes().to_vec()));
        }
        "real" => {
            let number: f32 = value.parse().map_err(|_| format!("bad number {text}"))?;
            return Ok(Argument::Bytes(number.to_le_bytes().to_vec()));
        }
        "f32" => Fill::Float32 { seed },
        "normal" => Fill::Normal32 { seed },
        "f16" => Fill::Float16 { seed },
        "zero" => Fill::Zero,
        "index" => {
            let bound = parts.next().and_then(|text| text.parse().ok());
            Fill::Index {
                seed,
                bound: bound.ok_or(format!("{text}: no bound"))?,
                bytes: 4,
            }
        }
        _ => return Err(format!("unknown argument {text}")),
    };
    let buffer = memory.add_on_touch(bytes()?, fill);
    let buffer = buffer.map_err(|error| error.to_string())?;
    Ok(Argument::Buffer(buffer, 0))
}

fn run() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, kernel, grid, threadgroup, rest @ ..] = args.as_slice() else {
        return Err("FILE KERNEL GRID THREADGROUP ARGUMENT...".to_owned());
    };
    let bitcode = load::bitcode(Path::new(file), &load::Build::default())?;
    let module = load::program(&bitcode, kernel)?;
    let program = assay_codegen::generate(&module, kernel, &Default::default())
        .map_err(|error| error.to_string())?;
    let mut memory = Memory::new();
    let mut arguments = Vec::new();
    let mut threadgroup_memory = Vec::new();
    for text in rest {
        if let Some(bytes) = text.strip_prefix("local:") {
            let bytes = bytes.parse().map_err(|_| format!("bad size {text}"))?;
            threadgroup_memory.push((threadgroup_memory.len() as u32, bytes));
            continue;
        }
        let index = arguments.len() as u32;
        arguments.push((index, argument(text, u64::from(index), &mut memory)?));
    }
    let dispatch = Dispatch {
        program: &program,
        grid: axes(grid)?,
        threadgroup: axes(threadgroup)?,
        arguments,
        threadgroup_memory,
    };
    let start = Instant::now();
    let execution =
        execute(&dispatch, &mut memory, &Sampling::default()).map_err(|error| error.to_string())?;
    let executed = start.elapsed();
    let text = serde_json::to_string(&execution).map_err(|error| error.to_string())?;
    if std::env::var_os("SHOW").is_some() {
        println!("{text}");
    }
    println!(
        "{} threadgroups, {} sampled in {executed:.1?}, {} bytes stored, {} MB touched, {} paths, {} blocks",
        execution.threadgroups(),
        execution.sampled,
        text.len(),
        (execution.lines() * 128.0 / 1e4).round() / 100.0,
        execution.paths.len(),
        execution.blocks.len(),
    );
    for name in ["m1", "m2", "m1-max"] {
        let chip = Chip::named(name).map_err(|error| error.to_string())?;
        let start = Instant::now();
        let prediction = predict(
            &CommandBuffer::of(&execution),
            &chip,
            &Constants::of(&chip),
            Cache::Warm,
        )
        .map_err(|error| error.to_string())?;
        println!(
            "{name}: {:.1} µs, limited by {} ({:?}), in {:.1?}",
            prediction.time_us,
            prediction.limited_by,
            prediction.class,
            start.elapsed()
        );
        for term in prediction.terms.iter().filter(|term| term.us > 0.01) {
            println!("    {:20} {:9.2}", term.name, term.us);
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("time: {message}");
            ExitCode::FAILURE
        }
    }
}

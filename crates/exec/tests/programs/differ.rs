//! Runs one kernel in all ways that must agree, for tests and for fuzzing.

use assay_exec::{Bindings, Buffer, Grid, Limits, Options, Program, SimdLevel};
use assay_ssa::Module;

/// Two threadgroups of two simdgroups, and one cut at the edge of the grid.
const THREADS: u32 = 160;

/// Bytes from a seed.
pub(crate) fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed * 2 + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn words(seed: u64, count: u32) -> Buffer {
    Buffer::from_bytes(&random_bytes(seed, count as usize * 4))
}

fn compile(module: &Module, simd: SimdLevel) -> Result<Program, String> {
    let options = Options {
        simd,
        ..Options::default()
    };
    Program::compile(module, "k", &options).map_err(|error| error.to_string())
}

/// What is in buffer 0 after a run, or after a checked one.
fn result(program: &Program, own: u32, shared: u32, checked: bool) -> Result<Vec<u8>, String> {
    let mut bindings = Bindings::new();
    bindings.set(0, words(1, THREADS * own));
    bindings.set(1, words(2, shared));
    let grid = Grid::line(THREADS, 64);
    let limits = Limits {
        max_steps: 1_000_000,
        ..Limits::default()
    };
    if checked {
        let reports = program.check(&grid, &mut bindings, &limits);
        let reports = reports.map_err(|error| error.to_string())?;
        if let Some(report) = reports.first() {
            return Err(format!("{report:?}"));
        }
    } else {
        let ran = program.run(&grid, &mut bindings, &limits);
        ran.map_err(|error| error.to_string())?;
    }
    Ok(bindings
        .get(0)
        .map(|own| own.bytes().to_vec())
        .unwrap_or_default())
}

/// Runs a kernel unoptimised and optimised, at every SIMD level, plainly and checked. Returns the operations of the optimised
/// program; an error if two ways disagree.
pub(crate) fn difference(text: &str, own: u32, shared: u32) -> Result<usize, String> {
    let original = assay_ssa::parse(text).map_err(|error| error.to_string())?;
    assay_ssa::verify(&original).map_err(|errors| format!("{:?}", errors.first()))?;
    let mut optimised = original.clone();
    assay_opt::pipeline::optimize(&mut optimised).map_err(|error| error.to_string())?;
    let expected = result(
        &compile(&original, SimdLevel::PORTABLE)?,
        own,
        shared,
        false,
    )?;
    let mut operations = 0;
    for (name, module) in [("unoptimised", &original), ("optimised", &optimised)] {
        for level in SimdLevel::available() {
            let program = compile(module, level)?;
            operations = program.operations();
            for checked in [false, true] {
                let found = result(&program, own, shared, checked)
                    .map_err(|error| format!("{name}, {}: {error}", level.name()))?;
                if let Some(at) = (0..expected.len()).find(|&at| found.get(at) != expected.get(at))
                {
                    let (level, word) = (level.name(), at / 4);
                    return Err(format!(
                        "{name}, {level}, checked {checked}: word {word} of buffer 0 differs"
                    ));
                }
            }
        }
    }
    Ok(operations)
}

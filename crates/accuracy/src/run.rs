//! Executing cases on the emulator: each dispatch on a sample of its threadgroups.

use crate::build::{self, Sources};
use crate::case::{Argument, Case, Pass};
use crate::sets;
use crate::store::Stored;
use crate::{Error, Result};
use assay_agx::Program;
use assay_launch::Start;
use assay_predict::{Dispatch, Execution, Memory, Sampling, execute};

/// A dispatch with at most this many threads, over buffers of at most so many bytes, is run
/// whole before the next one, which may need its results. Larger ones in the data make
/// nothing that decides what follows.
const WHOLE_THREADS: u64 = 1 << 16;
const WHOLE_BYTES: u64 = 16 << 20;

/// Compiles and executes a case.
pub fn run(case: &Case, sources: &Sources) -> Result<Stored> {
    let bitcode = sources.bitcode(case)?;
    let programs = case
        .passes
        .iter()
        .map(|pass| build::program(&bitcode, pass))
        .collect::<Result<Vec<Program>>>()?;
    if let (Some(program), true) = (programs.first(), case.passes.len() == 1)
        && let Some(reason) = sets::contradiction(case, program.threadgroup_bytes.unwrap_or(0))
    {
        return Err(reason.into());
    }
    let executions = (0..programs.len())
        .map(|index| execute_pass(case, &programs, index))
        .collect::<Result<Vec<Execution>>>()?;
    Ok(Stored::new(case, executions))
}

/// Runs the passes before `index` where they matter, then executes a sample of it.
fn execute_pass(case: &Case, programs: &[Program], index: usize) -> Result<Execution> {
    let mut memory = Memory::new();
    let mut buffers = Vec::new();
    for (number, buffer) in case.buffers.iter().enumerate() {
        let seed = number as u64 + 1;
        buffers.push(match &buffer.contents {
            Start::Bytes(bytes) => memory.add(bytes)?,
            Start::Fill(fill) => memory.add_on_touch(buffer.bytes, fill.seeded(seed))?,
        });
    }
    let dispatch = |pass: &Pass, program| Dispatch {
        program,
        grid: pass.grid,
        threadgroup: pass.threadgroup,
        arguments: pass
            .arguments
            .iter()
            .map(|(at, argument)| {
                let argument = match argument {
                    Argument::Buffer(n) => assay_predict::Argument::Buffer(buffers[*n], 0),
                    Argument::Bytes(bytes) => assay_predict::Argument::Bytes(bytes.clone()),
                };
                (*at, argument)
            })
            .collect(),
        threadgroup_memory: pass.threadgroup_memory.clone(),
    };
    let sampling = Sampling::default();
    for (pass, program) in case.passes.iter().zip(programs).take(index) {
        let threads: u64 = pass.grid.iter().map(|&axis| u64::from(axis)).product();
        let bytes: u64 = case.buffers.iter().map(|buffer| buffer.bytes).sum();
        if threads <= WHOLE_THREADS && bytes <= WHOLE_BYTES {
            let mut launch = dispatch(pass, program).launch(&mut memory, sampling.max_steps)?;
            launch.sequential = true;
            assay_emu::run(program, &launch, memory.device())
                .map_err(|e| Error::from(e.to_string()))?;
        }
    }
    let execution = execute(
        &dispatch(&case.passes[index], &programs[index]),
        &mut memory,
        &sampling,
    )?;
    Ok(execution)
}

//! Executing a sample of a dispatch's threadgroups and folding what they did.

use crate::code::Code;
use crate::dispatch::{Dispatch, Memory};
use crate::error::Error;
use crate::execution::{Access, Block, Execution, Group, Path, Step, VERSION};
use crate::fold::counts_as_steps;
use crate::footprint::footprint;
use crate::record::{Record, Recorder, Stream, average};
use crate::sample;
use assay_chip::{CostModel, CostTable};
use assay_emu::Runner;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How much of a dispatch is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Threadgroups at most; a grid with no more is executed whole.
    pub threadgroups: u32,
    /// Instructions a simdgroup may take.
    pub max_steps: u64,
    /// Instructions of simdgroups after which no further threadgroups are started.
    pub budget: u64,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            threadgroups: 24,
            max_steps: 50_000_000,
            budget: 20_000_000,
        }
    }
}

/// Distinct streams kept; more are gathered by length.
const MOST_PATHS: usize = 24;

/// Streams are gathered to so many.
const GATHERED_PATHS: usize = 8;

/// Relative spread of the mean of instructions at which no more threadgroups are run.
const ENOUGH: f64 = 0.01;

/// Executes a sample of the dispatch.
///
/// Contents of buffers that the kernel writes change as if only the sampled threadgroups
/// had run.
pub fn execute(
    dispatch: &Dispatch<'_>,
    memory: &mut Memory,
    sampling: &Sampling,
) -> Result<Execution, Error> {
    let launch = dispatch.launch(memory, sampling.max_steps)?;
    let memory = &*memory;
    let start = || Runner::new(dispatch.program, &launch, memory.device());
    let runner = start().map_err(|error| Error::of_run(error, [0; 3]))?;
    let costs = CostTable::of(CostModel::Measured);
    let code = Code::new(dispatch.program, costs).map_err(|_| Error::TooManyBlocks)?;
    let records = run_sample(&runner, &code, sampling)?;
    let positions: Vec<[u32; 3]> = records.iter().map(|record| record.position).collect();
    let groups = runner.threadgroups();
    let shares = sample::shares(groups, &positions);
    let mut execution = fold(&records, &shares, &code);
    execution.version = VERSION;
    execution.kernel = dispatch.program.name.clone();
    execution.grid = dispatch.grid;
    execution.threadgroup = dispatch.threadgroup;
    execution.sampled = records.len() as u32;
    execution.half_registers = match dispatch.program.half_registers {
        Some(halves) => u32::from(halves),
        None => code.half_registers(),
    };
    let stated = launch.threadgroup_bytes;
    execution.threadgroup_bytes = stated.unwrap_or(runner.threadgroup_bytes());
    execution.constant_instructions = runner.constant_instructions();
    execution.footprint = footprint(&records, groups, memory);
    if runner.depends_on_order() {
        execution
            .notes
            .push("results depend on the order of atomics".to_owned());
    }
    Ok(execution)
}

fn run_sample(runner: &Runner<'_>, code: &Code, sampling: &Sampling) -> Result<Vec<Record>, Error> {
    let groups = runner.threadgroups();
    let mut records: Vec<Record> = Vec::new();
    let mut spent = 0;
    for batch in sample::batches(groups, sampling.threadgroups.max(1)) {
        let one = |&position: &[u32; 3]| {
            let mut recorder = Recorder::new(code);
            let ran = runner.run_threadgroup(position, &mut recorder);
            ran.map_err(|error| Error::of_run(error, position))?;
            Ok(recorder.finish(position))
        };
        let ran: Vec<Result<Record, Error>> = match runner.depends_on_order() {
            true => batch.iter().map(one).collect(),
            false => batch.par_iter().map(one).collect(),
        };
        for record in ran {
            let record = record?;
            spent += record.instructions;
            records.push(record);
        }
        if spent >= sampling.budget || settled(&records) {
            break;
        }
    }
    Ok(records)
}

/// Returns true if more threadgroups would hardly move the mean of instructions.
fn settled(records: &[Record]) -> bool {
    const FEWEST: usize = 12;
    if records.len() < FEWEST {
        return false;
    }
    let counts = records.iter().map(|record| record.instructions as f64);
    let n = records.len() as f64;
    let mean = counts.clone().sum::<f64>() / n;
    let variance = counts.map(|count| (count - mean).powi(2)).sum::<f64>() / n;
    (variance / n).sqrt() <= ENOUGH * mean
}

/// Folds the records of threadgroups into one execution.
fn fold(records: &[Record], shares: &[f64], code: &Code) -> Execution {
    let (accesses, index_of) = fold_accesses(records, shares, code);
    let mut executed = vec![false; code.block_count()];
    for stream in records.iter().flat_map(|record| &record.streams) {
        for (block, _) in stream.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            executed[block] = true;
        }
    }
    let mut new_number = vec![u16::MAX; code.block_count()];
    let mut blocks = Vec::new();
    let runs = code.runs(|offset| index_of.get(&offset).copied());
    for (block, runs) in runs.into_iter().enumerate() {
        if executed[block] {
            new_number[block] = blocks.len() as u16;
            blocks.push(Block {
                offset: code.block_offset(block),
                runs,
            });
        }
    }
    let mean = |value: fn(&Record) -> u64| -> f64 {
        let parts = records.iter().zip(shares);
        parts
            .map(|(record, share)| share * value(record) as f64)
            .sum()
    };
    let instructions = mean(|record| record.instructions);
    let per_instruction = 1.0 / instructions.max(1.0);
    let (mut paths, groups) = fold_paths(records, shares);
    for path in &mut paths {
        renumber(&mut path.steps, &new_number);
    }
    Execution {
        instructions,
        active_lanes: mean(|record| record.lane_instructions) * per_instruction,
        divergent: mean(|record| record.divergent) * per_instruction,
        blocks,
        accesses,
        paths,
        groups,
        ..Execution::default()
    }
}

fn fold_accesses(
    records: &[Record],
    shares: &[f64],
    code: &Code,
) -> (Vec<Access>, BTreeMap<u32, u16>) {
    let mut parts: BTreeMap<u32, Vec<(f64, &crate::record::Sums)>> = BTreeMap::new();
    for (record, &share) in records.iter().zip(shares) {
        for (instruction, sums) in &record.accesses {
            let list = parts.entry(*instruction).or_default();
            list.push((share, sums.as_ref()));
        }
    }
    let mut accesses = Vec::new();
    let mut index_of = BTreeMap::new();
    for (instruction, parts) in parts.into_iter().take(usize::from(u16::MAX)) {
        let Some(instruction) = code.instructions.get(instruction as usize) else {
            continue;
        };
        index_of.insert(instruction.offset, accesses.len() as u16);
        accesses.push(average(instruction.offset, &parts));
    }
    (accesses, index_of)
}

/// The distinct streams, and the threadgroups in terms of them.
fn fold_paths(records: &[Record], shares: &[f64]) -> (Vec<Path>, Vec<Group>) {
    let mut paths: Vec<Path> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    let few = distinct(records) <= MOST_PATHS;
    let gathered = if few { Vec::new() } else { gather(records) };
    for (record, &share) in records.iter().zip(shares) {
        let mut simdgroups: Vec<(u16, u16)> = Vec::new();
        for stream in &record.streams {
            let steps = match few {
                true => stream.steps.clone(),
                false => nearest(&gathered, length(stream)).to_vec(),
            };
            let known = paths.iter().position(|path| path.steps == steps);
            let path = known.unwrap_or_else(|| {
                paths.push(Path { steps });
                paths.len() - 1
            }) as u16;
            match simdgroups.last_mut() {
                Some((last, count)) if *last == path => *count += 1,
                _ => simdgroups.push((path, 1)),
            }
        }
        match groups
            .iter_mut()
            .find(|group| group.simdgroups == simdgroups)
        {
            Some(group) => group.share += share,
            None => groups.push(Group { share, simdgroups }),
        }
    }
    (paths, groups)
}

fn distinct(records: &[Record]) -> usize {
    let mut seen: Vec<&[Step]> = Vec::new();
    for stream in records.iter().flat_map(|record| &record.streams) {
        if !seen.contains(&stream.steps.as_slice()) {
            seen.push(&stream.steps);
            if seen.len() > MOST_PATHS {
                break;
            }
        }
    }
    seen.len()
}

/// Executions of blocks, summed: the length by which streams are compared.
fn length(stream: &Stream) -> u64 {
    stream.counts.iter().sum()
}

/// Streams of similar length as one average each: upper length and steps, ascending.
fn gather(records: &[Record]) -> Vec<(u64, Vec<Step>)> {
    let streams = records.iter().flat_map(|record| &record.streams);
    let mut streams: Vec<&Stream> = streams.collect();
    streams.sort_by_key(|stream| length(stream));
    let size = streams.len().div_ceil(GATHERED_PATHS).max(1);
    let average = |members: &[&Stream]| {
        let blocks = members.iter().map(|stream| stream.counts.len()).max();
        let order: Vec<u16> = (0..blocks.unwrap_or(0) as u16).collect();
        let mean = |block: u16| {
            let counts = members
                .iter()
                .filter_map(|s| s.counts.get(usize::from(block)));
            counts.sum::<u64>().div_ceil(members.len() as u64)
        };
        let counts: Vec<u64> = order.iter().map(|&block| mean(block)).collect();
        counts_as_steps(&order, &counts)
    };
    streams
        .chunks(size)
        .map(|members| {
            let most = members.last().map_or(0, |stream| length(stream));
            (most, average(members))
        })
        .collect()
}

fn nearest(gathered: &[(u64, Vec<Step>)], length: u64) -> &[Step] {
    let found = gathered.iter().find(|(most, _)| length <= *most);
    found
        .or(gathered.last())
        .map_or(&[], |(_, steps)| steps.as_slice())
}

fn renumber(steps: &mut [Step], new_number: &[u16]) {
    for step in steps {
        match step {
            Step::Block(block, _) => {
                *block = new_number.get(usize::from(*block)).copied().unwrap_or(0);
            }
            Step::Loop(_, body) => renumber(body, new_number),
        }
    }
}

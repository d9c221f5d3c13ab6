//! Executing a sample of a dispatch's threadgroups and folding what they did.

use crate::change::Change;
use crate::code::Code;
use crate::dispatch::{Dispatch, Memory};
use crate::error::Error;
use crate::execution::{Execution, Space, VERSION};
use crate::footprint::footprint;
use crate::record::{Record, Recorder};
use crate::sample as positions;
use crate::sampled::Sampled;
use crate::summarise::fold;
use assay_chip::{CostModel, CostTable};
use assay_emu::{Observer, Runner};
use rayon::prelude::*;

/// How much of a dispatch is executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Threadgroups at most; a grid with no more is executed whole.
    pub threadgroups: u32,
    /// Instructions a simdgroup may take.
    pub max_steps: u64,
    /// Instructions of simdgroups after which no further threadgroups are started.
    pub budget: u64,
    /// Time the code as it is written: it is Apple's, or runs as it is. Otherwise blocks are
    /// scheduled as an optimising compiler would.
    pub as_written: bool,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling {
            threadgroups: 24,
            max_steps: 50_000_000,
            budget: 6_000_000,
            as_written: false,
        }
    }
}

/// Threadgroups at most for a program to be run whole because its atomics' order matters.
const WHOLE: u64 = 2048;

/// How many times the budget a whole run may take.
const WHOLE_BUDGET: u64 = 4;

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
    Ok(sample(dispatch, memory, sampling)?.execution)
}

/// Executes a sample of the dispatch and keeps what it did, so that it can be asked for the same without some
/// effect. Memory changes as with [`execute`].
pub fn sample(
    dispatch: &Dispatch<'_>,
    memory: &mut Memory,
    sampling: &Sampling,
) -> Result<Sampled, Error> {
    let launch = dispatch.launch(memory, sampling.max_steps)?;
    let memory = &*memory;
    let start = || Runner::new(dispatch.program, &launch, memory.device());
    let runner = start().map_err(|error| Error::of_run(error, [0; 3]))?;
    let costs = CostTable::of(CostModel::Measured);
    let code = Code::new(dispatch.program, costs).map_err(|_| Error::TooManyBlocks)?;
    let records = run_sample(&runner, &code, sampling)?;
    let positions: Vec<[u32; 3]> = records.iter().map(|record| record.position).collect();
    let groups = runner.threadgroups();
    let segments = segments(&records, groups);
    let weights = match &segments {
        Some(segments) => segment_shares(&records, groups, segments),
        None => positions::shares(groups, &positions),
    };
    let plan = (!sampling.as_written).then(|| code.plan());
    let (mut execution, kinds) = fold(&records, &weights, &code, plan.as_ref(), &Change::default());
    if let Some(segments) = segments {
        execution.order = order(&records, &kinds, groups, &segments);
    }
    execution.version = VERSION;
    execution.kernel = dispatch.program.name.clone();
    execution.grid = dispatch.grid;
    execution.threadgroup = dispatch.threadgroup;
    execution.sampled = records.len() as u32;
    execution.half_registers = match dispatch.program.half_registers {
        Some(halves) => u32::from(halves),
        None => code.half_registers(),
    };
    if let Some(plan) = &plan {
        execution.half_registers = execution.half_registers.max(plan.half_registers);
    }
    execution.threadgroup_bytes = launch.threadgroup_bytes.unwrap_or(0);
    execution.constant_instructions = runner.constant_instructions();
    execution.footprint = footprint(&records, groups, memory);
    if runner.depends_on_order() {
        execution
            .notes
            .push("results depend on the order of atomics".to_owned());
    }
    Ok(Sampled {
        code,
        plan,
        records,
        shares: weights,
        execution,
    })
}

fn run_sample(runner: &Runner<'_>, code: &Code, sampling: &Sampling) -> Result<Vec<Record>, Error> {
    let groups = runner.threadgroups();
    let count: u64 = groups.iter().map(|&n| u64::from(n)).product();
    if runner.depends_on_order() && count <= WHOLE {
        return run_whole(runner, code, sampling);
    }
    let mut records: Vec<Record> = Vec::new();
    let mut spent = 0;
    let mut most = usize::MAX;
    for batch in positions::batches(groups, sampling.threadgroups.max(1)) {
        let batch = batch.get(..most.min(batch.len())).unwrap_or_default();
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
            let record = record.map_err(|error| match error {
                Error::Endless { steps, .. } if runner.depends_on_order() => Error::Waits {
                    threadgroups: count,
                    most: WHOLE,
                    steps,
                },
                error => error,
            })?;
            spent += record.instructions;
            records.push(record);
        }
        if spent >= sampling.budget || settled(&records) {
            break;
        }
        // The rest of the budget, by what threadgroups took so far.
        let each = (spent / records.len().max(1) as u64).max(1);
        most = ((sampling.budget - spent) / each).max(1) as usize;
    }
    let left = sampling.budget.saturating_sub(spent);
    find_borders(runner, code, &mut records, left)?;
    Ok(records)
}

/// Returns true if two threadgroups do about as much: as many instructions, and as many lines of device
/// memory. Code without jumps takes as many instructions where all lanes are masked.
fn alike_in_length(a: &Record, b: &Record) -> bool {
    let near = |a: u64, b: u64, slack: f64| a.max(b) as f64 <= 1.25 * a.min(b) as f64 + slack;
    near(a.instructions, b.instructions, 0.0) && near(device_lines(a), device_lines(b), FEW_LINES)
}

/// Lines by which threadgroups may differ without being different.
const FEW_LINES: f64 = 8.0;

/// Lines of device memory that a threadgroup's accesses touch, each access by itself.
fn device_lines(record: &Record) -> u64 {
    let accesses = record.accesses.iter();
    let device = accesses.filter(|(_, sums)| sums.space == Space::Device);
    device.map(|(_, sums)| sums.lines).sum()
}

/// Neighbours in dispatch order, of those recorded, that do not do as much: places of both.
fn borders(records: &[Record], groups: [u32; 3]) -> Vec<(usize, usize)> {
    let mut in_order: Vec<usize> = (0..records.len()).collect();
    in_order.sort_by_key(|&n| positions::place(groups, records[n].position));
    let pairs = in_order.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter(|&(a, b)| !alike_in_length(&records[a], &records[b]))
        .collect()
}

/// Where the first threadgroups of a grid do more than the others (or less), finds how many
/// by bisection.
fn find_borders(
    runner: &Runner<'_>,
    code: &Code,
    records: &mut Vec<Record>,
    budget: u64,
) -> Result<(), Error> {
    let groups = runner.threadgroups();
    let mut spent = 0;
    for (low, high) in few(borders(records, groups)).unwrap_or_default() {
        let (mut low, mut high) = (low, high);
        loop {
            let first = positions::place(groups, records[low].position);
            let last = positions::place(groups, records[high].position);
            if last - first < 2 || spent >= budget {
                break;
            }
            let position = positions::position(groups, first + (last - first) / 2);
            let mut recorder = Recorder::new(code);
            let ran = runner.run_threadgroup(position, &mut recorder);
            ran.map_err(|error| Error::of_run(error, position))?;
            let record = recorder.finish(position);
            spent += record.instructions;
            records.push(record);
            let middle = records.len() - 1;
            match alike_in_length(&records[low], &records[middle]) {
                true => low = middle,
                false => high = middle,
            }
        }
    }
    Ok(())
}

/// Borders, unless there are too many for the grid to have a few parts.
fn few<T>(borders: Vec<T>) -> Option<Vec<T>> {
    const MOST_BORDERS: usize = 3;
    (borders.len() <= MOST_BORDERS).then_some(borders)
}

/// The ends of the parts of a grid that do about as much, in dispatch order; `None` when there
/// is one part only, or when parts are mixed.
fn segments(records: &[Record], groups: [u32; 3]) -> Option<Vec<u64>> {
    let count: u64 = groups.iter().map(|&n| u64::from(n)).product();
    if records.len() as u64 == count {
        // All were executed: each threadgroup is a part.
        return Some((1..=count).collect());
    }
    let borders = few(borders(records, groups)).filter(|borders| !borders.is_empty())?;
    let mut ends = Vec::new();
    for (low, high) in borders {
        let low = positions::place(groups, records[low].position);
        let high = positions::place(groups, records[high].position);
        // A border at an edge of the grid belongs to every row.
        if high - low > 1 || count - high <= 1 || high == 1 {
            return None;
        }
        ends.push(high);
    }
    ends.push(count);
    Some(ends)
}

/// Which part a record is in.
fn segment_of(record: &Record, groups: [u32; 3], ends: &[u64]) -> usize {
    let place = positions::place(groups, record.position);
    ends.partition_point(|&end| end <= place)
}

/// Shares of records by the parts they are in.
fn segment_shares(records: &[Record], groups: [u32; 3], ends: &[u64]) -> Vec<f64> {
    let parts: Vec<usize> = records
        .iter()
        .map(|record| segment_of(record, groups, ends))
        .collect();
    let count = ends.last().copied().unwrap_or(1).max(1) as f64;
    let share = |&part: &usize| {
        let start = part.checked_sub(1).map_or(0, |before| ends[before]);
        let members = parts.iter().filter(|&&other| other == part).count();
        let end = ends.get(part).copied().unwrap_or(start);
        (end - start) as f64 / count / members.max(1) as f64
    };
    parts.iter().map(share).collect()
}

/// The kinds of threadgroups in dispatch order: of each part the first record's.
fn order(records: &[Record], kinds: &[u16], groups: [u32; 3], ends: &[u64]) -> Vec<(u64, u16)> {
    let mut order: Vec<(u64, u16)> = Vec::new();
    let mut start = 0;
    for (part, &end) in ends.iter().enumerate() {
        let mut members = records.iter().zip(kinds);
        let first = members.find(|(record, _)| segment_of(record, groups, ends) == part);
        let kind = first.map_or(0, |(_, kind)| *kind);
        match order.last_mut() {
            Some((count, last)) if *last == kind => *count += end - start,
            _ => order.push((end - start, kind)),
        }
        start = end;
    }
    order
}

/// Runs every threadgroup in order and records the sampled ones: what they do may depend on
/// what those before them left.
fn run_whole(runner: &Runner<'_>, code: &Code, sampling: &Sampling) -> Result<Vec<Record>, Error> {
    let groups = runner.threadgroups();
    let sampled = positions::batches(groups, sampling.threadgroups.max(1)).concat();
    let count: u64 = groups.iter().map(|&n| u64::from(n)).product();
    let mut records = Vec::new();
    let mut spent = 0;
    for n in 0..count {
        let position = positions::position(groups, n);
        let failed = |error| Error::of_run(error, position);
        if sampled.contains(&position) {
            let mut recorder = Recorder::new(code);
            let ran = runner.run_threadgroup(position, &mut recorder);
            spent += ran.map_err(failed)?.instructions;
            records.push(recorder.finish(position));
        } else {
            let ran = runner.run_threadgroup(position, &mut Nobody);
            spent += ran.map_err(failed)?.instructions;
        }
        if spent > WHOLE_BUDGET * sampling.budget.max(1) && !records.is_empty() {
            break;
        }
    }
    Ok(records)
}

/// Runs every threadgroup of a dispatch, for what it leaves in memory. Returns false if that would
/// take more than about `budget` instructions of simdgroups; memory is then half written.
pub fn run_all(
    dispatch: &Dispatch<'_>,
    memory: &mut Memory,
    sampling: &Sampling,
    budget: u64,
) -> Result<bool, Error> {
    let launch = dispatch.launch(memory, sampling.max_steps)?;
    let memory = &*memory;
    let runner = Runner::new(dispatch.program, &launch, memory.device());
    let runner = runner.map_err(|error| Error::of_run(error, [0; 3]))?;
    let groups = runner.threadgroups();
    let count: u64 = groups.iter().map(|&n| u64::from(n)).product();
    let one = |n: u64| {
        let position = positions::position(groups, n);
        let ran = runner.run_threadgroup(position, &mut Nobody);
        let ran = ran.map_err(|error| Error::of_run(error, position))?;
        Ok(ran.instructions)
    };
    let mut spent = 0;
    for start in (0..count).step_by(BATCH) {
        let batch = start..count.min(start + BATCH as u64);
        let ran: Result<Vec<u64>, Error> = match runner.depends_on_order() {
            true => batch.map(one).collect(),
            false => batch.into_par_iter().map(one).collect(),
        };
        spent += ran?.iter().sum::<u64>();
        if spent > budget {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Threadgroups between two looks at the budget.
const BATCH: usize = 256;

/// Looks at nothing.
struct Nobody;

impl Observer for Nobody {
    fn step(&mut self, _: &assay_emu::Step<'_>) -> bool {
        false
    }
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

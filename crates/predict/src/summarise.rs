//! Records of threadgroups folded into one execution: distinct runs, accesses, streams and kinds.

use crate::change::Change;
use crate::code::Code;
use crate::execution::{
    Access, Block, CAPACITIES, Execution, Group, Kind, Path, Run, Space, Step, capacity,
};
use crate::fold::{Bodies, Folder, counts_as_steps};
use crate::invariants::{Fate, Plan};
use crate::record::{Record, Stream, average};
use std::collections::BTreeMap;

/// Distinct streams kept; more are gathered by length.
const MOST_PATHS: usize = 24;

/// Streams are gathered to so many.
const GATHERED_PATHS: usize = 8;

/// Folds the records of threadgroups into one execution; gives the kind of each too.
pub(crate) fn fold(
    records: &[Record],
    shares: &[f64],
    code: &Code,
    plan: Option<&Plan>,
    change: &Change,
) -> (Execution, Vec<u16>) {
    let (mut accesses, index_of) = fold_accesses(records, shares, code, change);
    let reloads = plan.map_or_else(BTreeMap::new, |plan| {
        let simdgroups = records.first().map_or(1, |record| record.streams.len());
        reloads(plan, code, &index_of, &mut accesses, simdgroups)
    });
    let mut executed = vec![false; code.block_count()];
    for stream in records.iter().flat_map(|record| &record.streams) {
        for (block, _) in stream.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            executed[block] = true;
        }
    }
    let mut new_number = vec![u16::MAX; code.block_count()];
    let mut blocks = Vec::new();
    let mut runs = Vec::new();
    let taken = plan.map(|_| {
        let mut taken = taken(records, shares, code.instructions.len());
        change.scale_issue(&mut taken);
        taken
    });
    let optimised = plan.zip(taken.as_deref());
    let by_block = code.runs(
        optimised,
        &executed,
        change,
        |offset, reload| match reload {
            true => reloads.get(&offset).copied(),
            false => index_of.get(&offset).copied(),
        },
    );
    for (block, (turns, own)) in by_block.into_iter().enumerate() {
        if executed[block] {
            new_number[block] = blocks.len() as u16;
            blocks.push(Block {
                offset: code.block_offset(block),
                steps: one_of(turns, fold_runs(&own, &mut runs)),
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
    let (mut paths, groups, kinds) = fold_paths(records, shares);
    for path in &mut paths {
        change.scale_blocks(&mut path.steps);
        renumber(&mut path.steps, &new_number);
    }
    let rows = records.iter().map(|record| record.stack_rows).max();
    let spilled = plan.map_or(0, |plan| plan.reloaded.iter().copied().max().unwrap_or(0));
    let execution = Execution {
        instructions,
        stack_lines: rows.unwrap_or(0) + spilled.div_ceil(2),
        active_lanes: mean(|record| record.lane_instructions) * per_instruction,
        flops: Some(mean(|record| record.flops)),
        divergent: mean(|record| record.divergent) * per_instruction,
        runs,
        blocks,
        accesses,
        paths,
        groups,
        ..Execution::default()
    };
    (execution, kinds)
}

/// Of each instruction: the share of its executions in which a lane is active. Apple's compiler jumps over
/// an arm that no lane takes: every `if` of its listings is followed by a `jmp_exec_none`. Generated
/// code jumps over long arms only.
fn taken(records: &[Record], shares: &[f64], instructions: usize) -> Vec<f32> {
    let share = |at: usize| {
        let (mut executed, mut by_a_lane) = (0.0, 0.0);
        for (record, share) in records.iter().zip(shares) {
            let taken = record.taken.get(at).copied().unwrap_or_default();
            executed += share * taken.executed as f64;
            by_a_lane += share * taken.by_a_lane as f64;
        }
        match executed > 0.0 {
            true => rounded((by_a_lane / executed) as f32),
            false => 1.0,
        }
    };
    (0..instructions).map(share).collect()
}

/// One turn, where steps are several turns scheduled together.
fn one_of(turns: usize, steps: Vec<Step>) -> Vec<Step> {
    match turns {
        0 | 1 => steps,
        turns => vec![Step::Loop(1.0 / turns as f32, steps)],
    }
}

/// The runs of a block as steps over the distinct runs of the program.
fn fold_runs(own: &[Run], distinct: &mut Vec<Run>) -> Vec<Step> {
    let mut bodies = Bodies::default();
    let mut folder = Folder::default();
    for run in own {
        let run = Run {
            issue: rounded(run.issue),
            complex: rounded(run.complex),
            alone: rounded(run.alone),
            fetched: rounded(run.fetched),
            ..*run
        };
        let known = distinct.iter().position(|known| *known == run);
        let number = known.unwrap_or_else(|| {
            distinct.push(run);
            distinct.len() - 1
        });
        // A program has fewer distinct runs than blocks could name.
        folder.push(number.min(usize::from(u16::MAX - 1)) as u16, &mut bodies);
    }
    folder.finish_in_order(&bodies)
}

/// Three significant digits: what is alike becomes equal.
fn rounded(value: f32) -> f32 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f32.powi(2 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

fn fold_accesses(
    records: &[Record],
    shares: &[f64],
    code: &Code,
    change: &Change,
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
    for (index, parts) in parts.into_iter().take(usize::from(u16::MAX)) {
        let Some(instruction) = code.instructions.get(index as usize) else {
            continue;
        };
        let access = alike(change.access(index, average(instruction.offset, &parts)));
        let same = |known: &Access| Access {
            offset: 0,
            ..known.clone()
        };
        let known = accesses
            .iter()
            .position(|known| !change.keeps_accesses_apart && same(known) == same(&access));
        let number = known.unwrap_or_else(|| {
            accesses.push(access);
            accesses.len() - 1
        });
        index_of.insert(instruction.offset, number as u16);
    }
    (accesses, index_of)
}

/// Accesses that reload what was spilled, by the offset of the load whose place they take. Every turn of
/// the loop each simdgroup goes through all of them, so a cache holds all or none.
fn reloads(
    plan: &Plan,
    code: &Code,
    index_of: &BTreeMap<u32, u16>,
    accesses: &mut Vec<Access>,
    simdgroups: usize,
) -> BTreeMap<u32, u16> {
    let mut found = BTreeMap::new();
    for (at, instruction) in code.instructions.iter().enumerate() {
        let load = index_of.get(&instruction.offset);
        let load = load.and_then(|&load| accesses.get(usize::from(load)));
        let (Some(Fate::Spilled), Some(load)) = (plan.fates.get(at), load) else {
            continue;
        };
        let lines = instruction.writes.len().div_ceil(2) as f32;
        let reloaded = plan.reloaded.get(at).copied().unwrap_or(0).div_ceil(2);
        let apart = reloaded as usize * simdgroups;
        let miss = |level| match capacity(level) < apart {
            true => lines,
            false => 0.0,
        };
        let reload = Access {
            space: Space::Stack,
            kind: Kind::Load,
            lines,
            passes: 0.0,
            misses: (0..CAPACITIES).map(miss).collect(),
            ..load.clone()
        };
        let same = |known: &Access| {
            Access {
                offset: reload.offset,
                ..known.clone()
            } == reload
        };
        let number = accesses.iter().position(same).unwrap_or_else(|| {
            accesses.push(reload.clone());
            accesses.len() - 1
        });
        if let Ok(number) = u16::try_from(number) {
            found.insert(instruction.offset, number);
        }
    }
    found
}

/// An access with rounded averages.
fn alike(access: Access) -> Access {
    Access {
        issued: rounded(access.issued),
        taken: rounded(access.taken),
        lanes: rounded(access.lanes),
        bytes: rounded(access.bytes),
        lines: rounded(access.lines),
        passes: rounded(access.passes),
        misses: access
            .misses
            .iter()
            .map(|&misses| rounded(misses))
            .collect(),
        ..access
    }
}

/// The distinct streams, the kinds of threadgroups in terms of them, and the kind of each
/// record.
fn fold_paths(records: &[Record], shares: &[f64]) -> (Vec<Path>, Vec<Group>, Vec<u16>) {
    let mut paths: Vec<Path> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    let mut kinds = Vec::new();
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
        let known = groups
            .iter()
            .position(|group| group.simdgroups == simdgroups);
        let kind = known.unwrap_or_else(|| {
            groups.push(Group {
                share: 0.0,
                simdgroups,
            });
            groups.len() - 1
        });
        groups[kind].share += share;
        kinds.push(kind as u16);
    }
    (paths, groups, kinds)
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

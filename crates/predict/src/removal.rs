//! The same dispatch without an effect: executions to be predicted again, so that the difference is what the effect costs.
//!
//! Each function changes what was recorded and folds it again; nothing of the chip is changed. What a removal cannot
//! know (the arithmetic of a cure, for one) stays as it is.

mod coalesced;

pub use coalesced::coalesced;

use crate::change::Change;
use crate::execution::{Access, Execution, Kind, LINE, Run, Space, Step, Stop};
use crate::sampled::Sampled;
use crate::seen::{Seen, SeenAccess, SeenBranch};
use std::collections::BTreeMap;

/// Bytes of a sector: what lanes side by side ask for together.
const SECTOR: f64 = 32.0;

/// Lanes of a simdgroup.
const LANES: f64 = 32.0;

/// Accesses to threadgroup memory (by offset) in which no two lanes want different words of one bank.
pub fn without_conflicts(sampled: &Sampled, seen: &Seen, offsets: &[u32]) -> Execution {
    changed_accesses(sampled, seen, offsets, |one| Access {
        passes: one.access.passes.min(one.access.lines),
        ..one.access.clone()
    })
}

/// Atomics (by offset) of which a threadgroup executes one, by one lane.
pub fn without_atomics(sampled: &Sampled, seen: &Seen, offsets: &[u32]) -> Execution {
    changed_accesses(sampled, seen, offsets, |one| {
        let share = (1.0 / one.executions.max(1.0)) as f32;
        let each = |value: f32, lanes: f32| value.min(lanes) * share;
        Access {
            issued: share,
            taken: share,
            lanes: share,
            bytes: each(one.access.bytes, 4.0),
            lines: each(one.access.lines, 1.0),
            passes: each(one.access.passes, 1.0),
            misses: one
                .access
                .misses
                .iter()
                .map(|&misses| each(misses, 1.0))
                .collect(),
            ..one.access.clone()
        }
    })
}

fn changed_accesses(
    sampled: &Sampled,
    seen: &Seen,
    offsets: &[u32],
    change: impl Fn(&SeenAccess) -> Access,
) -> Execution {
    let chosen = seen
        .accesses
        .iter()
        .filter(|one| offsets.contains(&one.offset()));
    sampled.changed(&Change {
        accesses: chosen.map(|one| (one.instruction, change(one))).collect(),
        ..Change::default()
    })
}

/// Barriers (by offset) that no simdgroup waits at.
pub fn without_barriers(sampled: &Sampled, seen: &Seen, offsets: &[u32]) -> Execution {
    let chosen = seen
        .barriers
        .iter()
        .filter(|one| offsets.contains(&one.offset));
    sampled.changed(&Change {
        barriers: chosen.map(|one| one.instruction).collect(),
        ..Change::default()
    })
}

/// A branch whose lanes are gathered: simdgroups behind it are full, and there are fewer of them.
pub fn gathered(sampled: &Sampled, seen: &Seen, branch: &SeenBranch) -> Execution {
    packed(sampled, seen, branch, 1.0)
}

/// What few lanes do behind a branch, spread over all lanes of the threadgroup.
pub fn spread(sampled: &Sampled, seen: &Seen, branch: &SeenBranch) -> Execution {
    let block = branch.lost.iter().max_by(|a, b| {
        let slots =
            |at: u32| sampled.slots(at) * sampled.mean(|record| record.observed.executed(at));
        slots(*a.0).total_cmp(&slots(*b.0))
    });
    let block = block.and_then(|(&at, _)| sampled.code.block_of(at as usize));
    let block = usize::from(block.unwrap_or(0));
    let busy = sampled.mean(|record| {
        let busy = record.streams.iter();
        let busy = busy.filter(|stream| stream.counts.get(block).is_some_and(|count| *count > 0));
        busy.count() as f64
    });
    packed(
        sampled,
        seen,
        branch,
        (busy / seen.simdgroups.max(1.0)).clamp(0.0, 1.0),
    )
}

/// Accesses to the stack that are not made: everything is in registers.
pub fn without_stack(sampled: &Sampled, seen: &Seen) -> Execution {
    let stack = seen
        .accesses
        .iter()
        .filter(|one| one.access.space == Space::Stack);
    let offsets: Vec<u32> = stack.map(SeenAccess::offset).collect();
    changed_accesses(sampled, seen, &offsets, |one| Access {
        offset: one.access.offset,
        space: Space::Stack,
        kind: one.access.kind,
        misses: vec![0.0; one.access.misses.len()],
        ..Access::default()
    })
}

fn packed(sampled: &Sampled, seen: &Seen, branch: &SeenBranch, further: f64) -> Execution {
    let mut change = Change::default();
    let mut of_block: BTreeMap<u16, (f64, usize)> = BTreeMap::new();
    let share = |instruction: u32| -> Option<f64> {
        let lost = branch.lost.get(&instruction)?;
        let active = sampled.active_lanes(instruction);
        Some((active / (active + lost).max(f64::MIN_POSITIVE)).clamp(1.0 / LANES, 1.0) * further)
    };
    for &instruction in branch.lost.keys() {
        if let (Some(block), Some(share)) = (
            sampled.code.block_of(instruction as usize),
            share(instruction),
        ) {
            let entry = of_block.entry(block).or_insert((0.0, 0));
            *entry = (entry.0.max(share), entry.1 + 1);
        }
    }
    // A block that is masked as a whole is executed less often; of others the masked instructions take fewer slots.
    for (&block, &(share, count)) in &of_block {
        if count >= sampled.code.block_len(block) {
            change.blocks.insert(block, share as f32);
        }
    }
    let factor = |instruction: u32| -> (f64, f64) {
        let own = share(instruction).unwrap_or(1.0);
        let block = sampled.code.block_of(instruction as usize);
        let block = block.and_then(|block| change.blocks.get(&block)).copied();
        let block = block.map_or(1.0, f64::from);
        (own / block, block)
    };
    for &instruction in branch.lost.keys() {
        change
            .issue
            .insert(instruction, factor(instruction).0 as f32);
    }
    let mut accesses = BTreeMap::new();
    for one in seen
        .accesses
        .iter()
        .filter(|one| branch.lost.contains_key(&one.instruction))
    {
        let (issued, block) = factor(one.instruction);
        accesses.insert(one.instruction, packed_access(one, issued, block));
    }
    change.accesses = accesses;
    sampled.changed(&change)
}

/// An access of which `issued` of the executions are left, in a block of which `block` are: all lanes together move
/// what they did before.
fn packed_access(one: &SeenAccess, issued: f64, block: f64) -> Access {
    let access = &one.access;
    let more = (1.0 / block) as f32;
    let lanes = (access.lanes * more).min(32.0);
    let bytes = f64::from(access.bytes) / block;
    let last = access.misses.last().copied().unwrap_or(0.0) * more;
    let lines = (bytes / LINE as f64)
        .max(f64::from(last))
        .min(f64::from(access.lines * more));
    let sectors = (bytes / SECTOR).max(lines) as f32;
    Access {
        issued: access.issued * issued as f32,
        taken: (access.taken * more).min(1.0) * issued as f32,
        lanes,
        bytes: bytes as f32,
        lines: lines as f32,
        passes: match access.space {
            Space::Device => (access.passes * more).min(sectors),
            _ => (access.passes * more).min(lines as f32),
        },
        misses: access
            .misses
            .iter()
            .map(|misses| (misses * more).min(lines as f32).max(last))
            .collect(),
        ..access.clone()
    }
}

/// Loads (by offset) of which a threadgroup brings each byte once to threadgroup memory, from where lanes load it.
pub fn shared(sampled: &Sampled, seen: &Seen, offsets: &[u32]) -> Execution {
    let mut change = Change {
        keeps_accesses_apart: true,
        ..Change::default()
    };
    let mut local = Vec::new();
    for one in seen
        .accesses
        .iter()
        .filter(|one| offsets.contains(&one.offset()))
    {
        let bytes = one.executions * f64::from(one.access.bytes);
        let once = (one.touched_bytes / bytes.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let factor = once as f32;
        let lines = (f64::from(one.access.bytes) * once / LINE as f64) as f32;
        change.accesses.insert(
            one.instruction,
            Access {
                issued: one.access.issued * factor,
                taken: one.access.taken * factor,
                lanes: one.access.lanes * factor,
                bytes: one.access.bytes * factor,
                lines,
                passes: lines * (LINE as f64 / SECTOR) as f32,
                misses: one
                    .access
                    .misses
                    .iter()
                    .map(|misses| misses.min(lines))
                    .collect(),
                ..one.access.clone()
            },
        );
        local.push(Access {
            space: Space::Threadgroup,
            lines: (one.distinct_bytes / LINE as f64).max(1.0) as f32 * one.access.issued,
            passes: (one.distinct_bytes / LINE as f64).max(1.0) as f32 * one.access.issued,
            misses: Vec::new(),
            ..one.access.clone()
        });
    }
    let mut execution = sampled.changed(&change);
    for access in local {
        also(&mut execution, access);
    }
    execution
}

/// Adds an access after each one at the same offset.
fn also(execution: &mut Execution, access: Access) {
    let old = execution
        .accesses
        .iter()
        .position(|one| one.offset == access.offset);
    let (Some(old), Ok(new)) = (old, u16::try_from(execution.accesses.len())) else {
        return;
    };
    execution.accesses.push(access);
    let mut after: BTreeMap<u16, u16> = BTreeMap::new();
    for at in 0..execution.runs.len() {
        let Stop::Access { access, slot } = execution.runs[at].stop else {
            continue;
        };
        if usize::from(access) == old
            && let (Ok(at), Ok(added)) = (u16::try_from(at), u16::try_from(execution.runs.len()))
        {
            execution.runs.push(Run {
                stop: Stop::Access { access: new, slot },
                ..Run::default()
            });
            after.insert(at, added);
        }
    }
    for block in &mut execution.blocks {
        insert_after(&mut block.steps, &after);
    }
}

fn insert_after(steps: &mut Vec<Step>, after: &BTreeMap<u16, u16>) {
    let mut at = 0;
    while at < steps.len() {
        match &mut steps[at] {
            Step::Loop(_, body) => insert_after(body, after),
            Step::Block(run, count) => {
                if let Some(&added) = after.get(run) {
                    let count = *count;
                    steps.insert(at + 1, Step::Block(added, count));
                    at += 1;
                }
            }
        }
        at += 1;
    }
}

/// Simdgroups all of whose lanes have a thread: fewer of them do the same.
pub fn filled(sampled: &Sampled, seen: &Seen) -> Execution {
    let more = 1.0 / seen.filled.clamp(1.0 / LANES, 1.0);
    let accesses = seen
        .accesses
        .iter()
        .map(|one| (one.instruction, with_more_lanes(one, more)));
    let mut execution = sampled.changed(&Change {
        accesses: accesses.collect(),
        ..Change::default()
    });
    // Threadgroups of eight full simdgroups, each as one was before.
    let simdgroups = execution.threads().div_ceil(32).max(1);
    let together = (8 / simdgroups).max(1);
    let kept = execution.threadgroups() as f64 / more / f64::from(together);
    for group in &mut execution.groups {
        for (_, count) in &mut group.simdgroups {
            *count = count.saturating_mul(together as u16);
        }
    }
    execution.threadgroup_bytes = execution.threadgroup_bytes.saturating_mul(together);
    regrid(&mut execution, kept, simdgroups * together * 32);
    execution
}

/// An access by lanes of which there are more: their bytes lie beside those of the others, unless lanes are far apart.
fn with_more_lanes(one: &SeenAccess, more: f64) -> Access {
    let access = &one.access;
    let scale = more as f32;
    let bytes = access.bytes * scale;
    let each = f64::from(access.bytes / access.lanes.max(f32::MIN_POSITIVE));
    let apart = one
        .stride
        .is_some_and(|stride| stride.unsigned_abs() as f64 > 1.5 * each);
    let lines = match apart {
        true => access.lines * scale,
        false => access.lines.max(bytes / LINE as f32),
    };
    let sectors = (bytes / SECTOR as f32).max(lines);
    Access {
        lanes: (access.lanes * scale).min(LANES as f32),
        bytes,
        lines,
        passes: match access.space {
            Space::Device if access.kind != Kind::Atomic => (access.passes * scale).min(sectors),
            _ => access.passes * scale,
        },
        misses: access
            .misses
            .iter()
            .map(|misses| (misses * scale).min(lines))
            .collect(),
        ..access.clone()
    }
}

/// Another grid: so many threadgroups of so many threads, all alike.
fn regrid(execution: &mut Execution, groups: f64, threads: u32) {
    let groups = groups
        .ceil()
        .clamp(1.0, f64::from(u32::MAX / threads.max(1))) as u32;
    let before = execution.threadgroups().max(1) as f64;
    execution.threadgroup = [threads, 1, 1];
    execution.grid = [groups.saturating_mul(threads), 1, 1];
    execution.order = Vec::new();
    // As much memory, touched by so many more or fewer threadgroups.
    let ratio = f64::from(groups) / before;
    let curve = &mut execution.footprint.curve;
    let own = touched_by(curve, 1.0 / ratio);
    let moved = curve
        .iter()
        .map(|&(count, lines)| ((count as f64 * ratio).round() as u64, lines));
    let mut points: Vec<(u64, f64)> = moved.filter(|(count, _)| *count > 1).collect();
    points.insert(0, (1, own));
    *curve = points;
}

/// Lines that so many threadgroups touch; part of one touches as large a part of its lines.
fn touched_by(curve: &[(u64, f64)], groups: f64) -> f64 {
    let mut before = (0.0, 0.0);
    for &(count, lines) in curve {
        let count = count as f64;
        if count >= groups {
            return before.1
                + (lines - before.1) * (groups - before.0) / (count - before.0).max(1.0);
        }
        before = (count, lines);
    }
    before.1
}

/// The dispatch with `groups` times as many threadgroups and `threads` times as many threads, which divide the work: first
/// the simdgroups of each threadgroup, then the turns of loops.
pub fn divided(execution: &Execution, groups: f64, threads: f64) -> Execution {
    let mut execution = execution.clone();
    let simdgroups = execution.threads().div_ceil(32).max(1);
    let apart = match execution_has_barriers(&execution) {
        true => 1,
        false => simdgroups.min(groups.ceil() as u32).max(1),
    };
    let turns = (groups / f64::from(apart)).max(threads).max(1.0);
    let kept = simdgroups.div_ceil(apart);
    for group in &mut execution.groups {
        let mut left = kept;
        group.simdgroups.retain_mut(|(_, count)| {
            *count = u32::from(*count).min(left) as u16;
            left -= u32::from(*count);
            *count > 0
        });
    }
    for path in &mut execution.paths {
        divide_loops(&mut path.steps, turns as f32);
    }
    let count = execution.threadgroups() as f64 * turns * f64::from(simdgroups) / f64::from(kept);
    regrid(&mut execution, count.min((1 << 20) as f64), kept * 32);
    execution
}

fn execution_has_barriers(execution: &Execution) -> bool {
    execution.runs.iter().any(|run| run.stop == Stop::Barrier)
}

/// Divides the turns of the outermost loops, as far as they have turns.
fn divide_loops(steps: &mut [Step], by: f32) {
    for step in steps {
        match step {
            Step::Loop(count, body) => {
                let turns = count.max(1.0).min(by);
                *count /= turns;
                if by > turns * 1.5 {
                    divide_loops(body, by / turns);
                }
            }
            Step::Block(_, count) if *count > 1.0 => *count /= count.min(by),
            Step::Block(..) => {}
        }
    }
}

/// Loads and stores (by offset) that move `times` as much at once: the blocks around them, or where these are in no loop the
/// threads, do the work of as many. What counts and makes addresses is executed that much less often.
pub fn widened(sampled: &Sampled, seen: &Seen, offsets: &[u32], times: f64) -> Execution {
    let mut change = Change::default();
    let scale = times as f32;
    let chosen = seen
        .accesses
        .iter()
        .filter(|one| offsets.contains(&one.offset()));
    let chosen: Vec<&SeenAccess> = chosen.collect();
    let turns = chosen
        .iter()
        .map(|one| one.executions / seen.simdgroups.max(1.0));
    let in_loop = turns.fold(0.0, f64::max) > 1.5;
    for one in &chosen {
        let Some(block) = sampled.code.block_of(one.instruction as usize) else {
            continue;
        };
        if in_loop {
            change.blocks.insert(block, 1.0 / scale);
        }
        for at in sampled.code.arithmetic_of(block) {
            change.issue.insert(at, scale);
        }
    }
    for one in &seen.accesses {
        let block = sampled.code.block_of(one.instruction as usize);
        let widened = block.is_some_and(|block| change.blocks.contains_key(&block)) || !in_loop;
        if widened {
            change.accesses.insert(one.instruction, wider(one, scale));
        }
    }
    let mut execution = sampled.changed(&change);
    if !in_loop {
        let (groups, threads) = (execution.threadgroups() as f64, execution.threads());
        regrid(&mut execution, groups / times, threads);
    }
    execution
}

/// An access that moves as much more at once.
fn wider(one: &SeenAccess, scale: f32) -> Access {
    let access = &one.access;
    let bytes = access.bytes * scale;
    let lines = (access.lines * scale).min((bytes / LINE as f32).max(access.lines));
    Access {
        bytes,
        lines,
        passes: (access.passes * scale).min((bytes / SECTOR as f32).max(lines)),
        misses: access
            .misses
            .iter()
            .map(|misses| (misses * scale).min(lines))
            .collect(),
        ..access.clone()
    }
}

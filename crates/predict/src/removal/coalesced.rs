//! The same dispatch with neighbouring lanes at neighbouring bytes.
//!
//! Several instructions often share lines: of the four loads that a lane makes of its 64 bytes, the first brings the lines and
//! the others find them. Lanes side by side fetch each byte once as well, so no more is saved than what nobody uses.

use super::SECTOR;
use crate::change::Change;
use crate::execution::{Access, Execution, LINE};
use crate::ranges::Ranges;
use crate::sampled::Sampled;
use crate::seen::{Seen, SeenAccess};

/// Accesses (by offset) whose lanes touch neighbouring bytes.
pub fn coalesced(sampled: &Sampled, seen: &Seen, offsets: &[u32]) -> Execution {
    let mut change = Change::default();
    let (mut before, mut after) = (0.0, 0.0);
    let mut chosen = Vec::new();
    for one in seen.accesses.iter().filter(|one| one.is_device()) {
        before += one.executions * one.lines();
        if !offsets.contains(&one.offset()) {
            after += one.executions * one.lines();
            continue;
        }
        after += one.executions * fewest(one);
        chosen.push(one);
    }
    if after > 0.0 {
        change.nearer = (before / after).log2().max(0.0) as f32;
    }
    let touched = Touched::new(sampled, &chosen);
    for (one, misses) in chosen.iter().zip(misses(&chosen, touched.used)) {
        let access = side_by_side(one, misses);
        change.accesses.insert(one.instruction, access);
    }
    let mut execution = sampled.changed(&change);
    touched.shrink_footprint(&mut execution);
    execution
}

/// Lines of an execution whose lanes are side by side.
fn fewest(one: &SeenAccess) -> f64 {
    one.lines_needed().min(one.lines())
}

fn side_by_side(one: &SeenAccess, misses: Vec<f32>) -> Access {
    let access = &one.access;
    let lines = fewest(one);
    let sectors = (one.distinct_bytes / SECTOR).max(lines) as f32;
    Access {
        lines: lines as f32,
        passes: access.passes.min(sectors),
        misses,
        ..access.clone()
    }
}

/// Misses of each access, per execution and capacity: no more than its lines, and together no fewer than the lines that
/// their bytes fill, unless there were fewer before.
fn misses(chosen: &[&SeenAccess], used: f64) -> Vec<Vec<f32>> {
    let capped = |one: &&SeenAccess| -> Vec<f32> {
        let lines = fewest(one) as f32;
        let misses = one.access.misses.iter();
        misses.map(|misses| misses.min(lines)).collect()
    };
    let mut after: Vec<Vec<f32>> = chosen.iter().map(capped).collect();
    let capacities = after.iter().map(Vec::len).max().unwrap_or(0);
    for capacity in 0..capacities {
        let (mut before, mut left, mut room) = (0.0, 0.0, 0.0);
        for (one, after) in chosen.iter().zip(&after) {
            let at = |misses: &[f32]| f64::from(misses.get(capacity).copied().unwrap_or(0.0));
            before += one.executions * at(&one.access.misses);
            left += one.executions * at(after);
            room += one.executions * (fewest(one) - at(after));
        }
        let lacking = (used.min(before) - left).max(0.0);
        let share = (lacking / f64::max(room, f64::MIN_POSITIVE)).min(1.0) as f32;
        for (one, after) in chosen.iter().zip(&mut after) {
            if let Some(misses) = after.get_mut(capacity) {
                *misses += (fewest(one) as f32 - *misses) * share;
            }
        }
    }
    after
}

/// What a threadgroup touches of device memory, in lines: what several instructions touch counts once.
struct Touched {
    /// All of it.
    all: f64,
    /// What the scattered accesses touch.
    scattered: f64,
    /// What they use of that.
    used: f64,
    /// What others touch.
    others: f64,
}

impl Touched {
    fn new(sampled: &Sampled, chosen: &[&SeenAccess]) -> Touched {
        let is_chosen = |at: u32| chosen.iter().any(|one| one.instruction == at);
        let union = |which: &dyn Fn(u32) -> bool, size: &dyn Fn(&Ranges) -> f64| {
            sampled.mean(|record| {
                let mut union = Ranges::default();
                for (_, sums) in record.accesses.iter().filter(|(at, _)| which(*at)) {
                    union.unite(&sums.touched, 0);
                }
                size(&union)
            })
        };
        let lines = |touched: &Ranges| touched.lines() as f64;
        Touched {
            all: union(&|_| true, &lines),
            scattered: union(&is_chosen, &lines),
            used: union(&is_chosen, &|touched| touched.bytes() as f64 / LINE as f64),
            others: union(&|at| !is_chosen(at), &lines),
        }
    }

    /// What threadgroups touch when these accesses leave no gaps: of lines that are used in part, the used part.
    fn shrink_footprint(&self, execution: &mut Execution) {
        let groups = execution.threadgroups() as f64;
        let curve = &mut execution.footprint.curve;
        let Some(&(_, whole)) = curve.last() else {
            return;
        };
        if self.all <= 0.0 || self.scattered <= 0.0 {
            return;
        }
        // All threadgroups together cannot use more of the lines than each of them uses of its own.
        let share = (self.scattered / self.all).min(1.0);
        let used = (groups * self.used / (whole * share).max(f64::MIN_POSITIVE)).min(1.0);
        let kept = 1.0 - share + share * used;
        let left = (self.others + self.used).min(self.all) / self.all;
        let own = curve.first().map_or(0.0, |&(_, lines)| lines) * left;
        for (count, lines) in curve.iter_mut() {
            *lines = (*lines * kept).min(own * *count as f64);
        }
        let last = whole * kept;
        if let Some((_, lines)) = curve.last_mut() {
            *lines = last.min(whole);
        }
        for buffer in &mut execution.footprint.buffers {
            buffer.read *= kept;
            buffer.written *= kept;
        }
    }
}

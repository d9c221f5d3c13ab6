//! What each `wait` waits for.
//!
//! Asynchronous instructions report to one of two scoreboard slots; `wait` stands until
//! its slot has drained. Which accesses may be outstanding at a wait is found by
//! following both slots over the graph.

use crate::cfg::Cfg;
use crate::code::Code;
use crate::cost::Charges;
use crate::dominators::Dominators;
use crate::loops::Loops;
use crate::schedule::Timing;
use crate::{BlockId, InsnId, LoopId};
use assay_agx::Op;

/// One `wait`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Wait {
    /// The instruction.
    pub at: InsnId,
    /// Byte offset of it.
    pub offset: u32,
    /// The scoreboard slot.
    pub slot: u8,
    /// Accesses that may be outstanding.
    pub producers: Vec<InsnId>,
    /// The access it stands longest for.
    pub slowest: Option<InsnId>,
    /// Issue slots between that access and the wait.
    pub work_between: f64,
    /// Cycles one simdgroup stands still; `None` when no producer's latency is known.
    pub stall: Option<f64>,
    /// The part of it that other resident simdgroups cannot fill.
    pub exposed: Option<f64>,
    /// The innermost loop around it.
    pub in_loop: Option<LoopId>,
}

/// Outstanding accesses by slot; hardware allows eight each.
#[derive(Clone, Default, PartialEq)]
struct Pending {
    slots: [Vec<InsnId>; 2],
}

/// More than hardware allows are not tracked.
const MOST: usize = 8;

impl Pending {
    /// Adds everything of `other`; says whether anything was new.
    fn join(&mut self, other: &Pending) -> bool {
        let mut grew = false;
        for (mine, theirs) in self.slots.iter_mut().zip(&other.slots) {
            for &id in theirs {
                if mine.len() < 2 * MOST
                    && let Err(place) = mine.binary_search(&id)
                {
                    mine.insert(place, id);
                    grew = true;
                }
            }
        }
        grew
    }

    fn step(&mut self, code: &Code, id: InsnId) {
        let Some(entry) = code.get(id) else {
            return;
        };
        let Some(slot) = entry
            .slot()
            .and_then(|slot| self.slots.get_mut(usize::from(slot)))
        else {
            return;
        };
        if entry.op() == Op::Wait {
            slot.clear();
        } else if slot.len() < 2 * MOST
            && let Err(place) = slot.binary_search(&id)
        {
            slot.insert(place, id);
        }
    }
}

/// Finds every wait and attributes it.
pub(crate) fn waits(
    timing: &Timing<'_>,
    cfg: &Cfg,
    dominators: &Dominators,
    loops: &Loops,
    prefix: &[f64],
) -> Vec<Wait> {
    let code = timing.code;
    let entering = solve(code, cfg, dominators);
    let mut found = Vec::new();
    for (block_id, block) in cfg.reached() {
        let mut pending = entering.get(block_id.index()).cloned().unwrap_or_default();
        for id in block.ids() {
            let wait = code.get(id).and_then(|entry| {
                (entry.op() == Op::Wait).then_some((entry.offset, entry.slot()?))
            });
            if let Some((offset, slot)) = wait {
                let producers = pending
                    .slots
                    .get(usize::from(slot))
                    .cloned()
                    .unwrap_or_default();
                let work = |from: InsnId| between(cfg, loops, prefix, from, id, block_id);
                let stood = |from: InsnId| stood_since(&found, from);
                let steady = steady_producers(cfg, loops, &producers, block_id);
                let wait = attribute(timing, id, offset, slot, &steady, work, stood);
                found.push(wait);
                if let Some(wait) = found.last_mut() {
                    wait.producers = producers;
                    wait.in_loop = loops.innermost(block_id);
                }
            }
            pending.step(code, id);
        }
    }
    found
}

fn attribute(
    timing: &Timing<'_>,
    at: InsnId,
    offset: u32,
    slot: u8,
    producers: &[InsnId],
    work: impl Fn(InsnId) -> f64,
    stood: impl Fn(InsnId) -> f64,
) -> Wait {
    let mut wait = Wait {
        at,
        offset,
        slot,
        slowest: None,
        work_between: 0.0,
        stall: None,
        exposed: None,
        in_loop: None,
        producers: Vec::new(),
    };
    for &producer in producers {
        let Some(latency) = timing.latency(producer) else {
            continue;
        };
        let between = work(producer);
        let left = latency - between - 1.0;
        // What has arrived needs no look at earlier waits; this also bounds how far back
        // that look goes, since every wait between takes an issue slot.
        let stall = match left > 0.0 {
            true => (left - stood(producer)).max(0.0),
            false => 0.0,
        };
        if wait.stall.is_none_or(|known| stall > known) {
            wait.stall = Some(stall);
            wait.slowest = Some(producer);
            wait.work_between = between;
        }
    }
    if producers.is_empty() {
        wait.stall = Some(0.0);
    }
    wait
}

/// In a loop, what an iteration after the first waits for: accesses of the loop itself
/// when there are any.
fn steady_producers(cfg: &Cfg, loops: &Loops, producers: &[InsnId], block: BlockId) -> Vec<InsnId> {
    let Some(around) = loops.innermost(block) else {
        return producers.to_vec();
    };
    let inside = |id: InsnId| {
        cfg.block_of(id)
            .is_some_and(|block| loops.contains(around, block))
    };
    let own: Vec<InsnId> = producers.iter().copied().filter(|&id| inside(id)).collect();
    match own.is_empty() {
        true => producers.to_vec(),
        false => own,
    }
}

/// Cycles stood at earlier waits after an access: they passed for it too.
fn stood_since(found: &[Wait], from: InsnId) -> f64 {
    found
        .iter()
        .rev()
        .take_while(|wait| wait.at > from)
        .filter_map(|wait| wait.stall)
        .sum()
}

/// Issue slots from after `from` until `to`, around the loop when it lies behind.
fn between(
    cfg: &Cfg,
    loops: &Loops,
    prefix: &[f64],
    from: InsnId,
    to: InsnId,
    block: BlockId,
) -> f64 {
    let at = |index: u32| prefix.get(index as usize).copied().unwrap_or(0.0);
    let direct = at(to.0) - at(from.0 + 1);
    if from < to {
        return direct.max(0.0);
    }
    let around = cfg.block_of(from).and_then(|producer| {
        loops
            .around(block)
            .find(|&id| loops.contains(id, producer))
            .and_then(|id| loops.get(id))
    });
    let Some(around) = around else {
        return 0.0;
    };
    let bounds = around.blocks.iter().filter_map(|&id| cfg.block(id));
    let (mut first, mut last) = (u32::MAX, 0);
    for block in bounds {
        first = first.min(block.insns.start);
        last = last.max(block.insns.end);
    }
    (at(last) - at(from.0 + 1) + at(to.0) - at(first)).max(0.0)
}

fn solve(code: &Code, cfg: &Cfg, dominators: &Dominators) -> Vec<Pending> {
    let mut entering = vec![Pending::default(); cfg.blocks().len()];
    let mut queued = vec![false; cfg.blocks().len()];
    let mut work: std::collections::VecDeque<BlockId> =
        dominators.order().iter().copied().collect();
    for id in &work {
        if let Some(queued) = queued.get_mut(id.index()) {
            *queued = true;
        }
    }
    while let Some(id) = work.pop_front() {
        if let Some(queued) = queued.get_mut(id.index()) {
            *queued = false;
        }
        let Some(block) = cfg.block(id) else {
            continue;
        };
        let mut pending = entering.get(id.index()).cloned().unwrap_or_default();
        for insn in block.ids() {
            pending.step(code, insn);
        }
        for edge in block.edges() {
            let grew = entering
                .get_mut(edge.to.index())
                .is_some_and(|to| to.join(&pending));
            if grew
                && let Some(queued) = queued.get_mut(edge.to.index())
                && !std::mem::replace(queued, true)
            {
                work.push_back(edge.to);
            }
        }
    }
    entering
}

/// Issue slots before each instruction, and after the last.
pub(crate) fn issue_prefix(code: &Code, charges: &Charges) -> Vec<f64> {
    let mut total = 0.0;
    let mut prefix = Vec::with_capacity(code.len() + 1);
    for index in 0..code.len() {
        prefix.push(total);
        let issue = charges.get(index).and_then(|charge| charge.issue);
        total += issue.map_or(0.0, f64::from);
    }
    prefix.push(total);
    prefix
}

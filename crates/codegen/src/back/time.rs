//! How long a block takes, by the cost table.
//!
//! A simdgroup issues in order and stands still until what it reads is there. Others
//! run meanwhile: with enough of them on a scheduler, standing still costs nothing.

use super::dag::Dag;
use crate::mir::{Inst, Opcode, Operand};
use assay_agx::Field;
use assay_chip::occupancy::SIMD_WIDTH;
use assay_chip::{CoreFacts, CostModel, CostTable, Key};

/// Cycles that a half register of all lanes takes on its way between a core's memories
/// and one of its schedulers.
fn cycles_per_half() -> f64 {
    let core = CoreFacts::get();
    f64::from(2 * SIMD_WIDTH * core.schedulers) / core.bytes_per_cycle
}

/// What an instruction costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    issue: f64,
    latency: f64,
    /// Cycles on the way to or from memory.
    bytes: f64,
}

/// The time of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Time {
    /// Cycles it cannot be faster than, however many simdgroups there are: its issue
    /// slots, or its bytes.
    busy: f64,
    /// Cycles of one simdgroup that has the scheduler for itself.
    pub(crate) alone: f64,
}

impl Time {
    /// Whether a part of the simdgroups that so many threads on a core are suffices to
    /// keep the scheduler busy: half of them, in loops a quarter. The others are for what
    /// the cost table cannot know: loads that miss the first cache, and dispatches that do
    /// not fill the machine.
    pub(crate) fn is_hidden(&self, threads: u32, in_loop: bool) -> bool {
        let simdgroups = f64::from(threads / SIMD_WIDTH / CoreFacts::get().schedulers);
        let part = if in_loop { 4.0 } else { 2.0 };
        self.alone <= self.busy * simdgroups / part
    }
}

/// What every instruction of a block costs.
pub(crate) fn costs(insts: &[Inst]) -> Vec<Cost> {
    let table = CostTable::of(CostModel::Measured);
    let cycles_per_half = cycles_per_half();
    let cost = |inst: &Inst| match inst.opcode {
        Opcode::Machine { op, .. } => {
            let cost = table.get(Key::of_op(op));
            let issue = cost.dispatch.unwrap_or(1.0);
            Cost {
                issue,
                latency: cost.latency.unwrap_or(issue),
                bytes: data_halves(inst) * cycles_per_half,
            }
        }
        // Its cost is not known: it takes a slot, like whatever the table has no number for.
        Opcode::Placeholder(_) => Cost {
            issue: 1.0,
            latency: 1.0,
            bytes: 0.0,
        },
        // Most copies disappear.
        Opcode::ParallelCopy | Opcode::Undefined => Cost::default(),
    };
    insts.iter().map(cost).collect()
}

/// Half registers that an instruction moves to or from memory.
fn data_halves(inst: &Inst) -> f64 {
    // One address for all lanes is one place.
    let one_place = inst.uses().next().is_none();
    if inst.memory.is_none() || one_place {
        return 0.0;
    }
    let data = inst
        .operands
        .iter()
        .find_map(|(field, operand)| match operand {
            Operand::Use(slice, _) | Operand::Def(slice) if *field == Field::Data => Some(slice),
            _ => None,
        });
    data.map_or(0.0, |slice| f64::from(slice.halves()))
}

/// The time of an order.
pub(crate) fn time(costs: &[Cost], dag: &Dag, order: &[u32]) -> Time {
    let mut ready = vec![0.0f64; costs.len()];
    let (mut now, mut issue, mut bytes) = (0.0, 0.0, 0.0);
    for &node in order {
        let at = node as usize;
        let cost = costs.get(at).copied().unwrap_or_default();
        let reads = dag.reads.get(at).into_iter().flatten();
        let start = reads
            .filter_map(|from| ready.get(*from as usize))
            .fold(now, |start: f64, ready| start.max(*ready));
        now = start + cost.issue;
        issue += cost.issue;
        bytes += cost.bytes;
        if let Some(ready) = ready.get_mut(at) {
            *ready = start + cost.latency.max(cost.issue);
        }
    }
    Time {
        busy: f64::max(issue, bytes),
        alone: now,
    }
}

/// No order is faster: every instruction has its turn, and waits for what it reads.
pub(crate) fn least_time(costs: &[Cost], dag: &Dag) -> f64 {
    let mut ready = vec![0.0f64; costs.len()];
    let (mut issue, mut longest) = (0.0, 0.0f64);
    for (at, cost) in costs.iter().enumerate() {
        let reads = dag.reads.get(at).into_iter().flatten();
        let start = reads
            .filter_map(|from| ready.get(*from as usize))
            .fold(0.0, |start: f64, ready| start.max(*ready));
        issue += cost.issue;
        longest = longest.max(start + cost.issue);
        if let Some(ready) = ready.get_mut(at) {
            *ready = start + cost.latency.max(cost.issue);
        }
    }
    longest.max(issue)
}

//! A loop reads device memory for every value it uses.
//!
//! ## What it does
//! Finds innermost loops with at least two device loads per iteration and no
//! threadgroup access, where a simdgroup alone waits longer than twice its work.
//!
//! ## Why it matters
//! Threads of a threadgroup often read the same values. Read once into threadgroup
//! memory, they come back in 28 cycles instead of 64 and more, and the bytes cross the
//! memory bus once.
//!
//! ## What to do
//! Copy a tile into threadgroup memory, `threadgroup_barrier`, and loop over the tile.
//! Only where neighbouring threads share values: a kernel that reads each value once
//! gains nothing.
//!
//! ## Gain
//! Per iteration, the stall of a device load less that of a threadgroup load.

use super::{Finding, Look, Metric, Severity, counted, finding};
use crate::cost::number;
use assay_agx::Op;
use assay_chip::{CostTable, Key};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let main = look.main();
    for report in &main.loops {
        if report.loads < 2
            || report.threadgroup_accesses > 0
            || !main.loop_nest.is_innermost(report.id)
        {
            continue;
        }
        let stall: f64 = main.waits_of(report).filter_map(|wait| wait.stall).sum();
        if stall <= 2.0 * report.costs.issue.known {
            continue;
        }
        let loads: Vec<_> = look
            .own_body(report)
            .into_iter()
            .filter(|(_, insn)| insn.op() == Op::DeviceLoad)
            .map(|(id, _)| id)
            .collect();
        let (Some(&first), Some(&last)) = (loads.first(), loads.last()) else {
            continue;
        };
        let timing = look.timing();
        let device = timing.latency(first);
        let shared = CostTable::of(look.options.costs)
            .get(Key::ThreadgroupLoad)
            .latency;
        let gain = device.zip(shared).map(|(device, shared)| {
            let share = ((device - shared) / device).max(0.0);
            (Metric::LoopAlone, stall * share)
        });
        let message = format!(
            "the loop at {:#x} has {} per iteration; a simdgroup alone waits {} \
             cycles for {} issue slots of work",
            report.start,
            counted(report.loads as usize, "device load"),
            number(stall),
            number(report.costs.issue.known)
        );
        out.push(finding(look, Severity::High, (first, last), message, gain));
    }
}

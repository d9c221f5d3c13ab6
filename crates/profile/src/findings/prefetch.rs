//! A loop waits for a load it could have started earlier.
//!
//! ## What it does
//! Finds waits in loops that stall for a load of the same iteration, when the address
//! changes from iteration to iteration and does not depend on loaded data. A load of one
//! address in every iteration waits for somebody else to write it.
//!
//! ## Why it matters
//! The address of the next iteration is known while this one computes. Loading one
//! iteration ahead hides the latency behind the whole body.
//!
//! ## What to do
//! Load the first value before the loop; in the loop load the next one, then use the
//! current. Unrolling by two or four lets the compiler do the same.
//!
//! ## Gain
//! Per iteration, the stall, as far as the rest of the body can fill it.

use super::{Finding, Look, Metric, Severity, finding};
use crate::cost::number;
use assay_agx::{Op, RegSet};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let main = look.main();
    for report in &main.loops {
        let waits: Vec<_> = main
            .waits_of(report)
            .filter(|wait| wait.stall.is_some_and(|stall| stall > 4.0))
            .collect();
        let body = look.own_body(report);
        let loads = || {
            body.iter()
                .filter(|(_, insn)| insn.op() == Op::DeviceLoad)
                .copied()
        };
        // Everything computed from loaded data.
        let mut tainted = RegSet::EMPTY;
        for _ in 0..2 {
            for &(id, insn) in &body {
                if insn.op() == Op::DeviceLoad || look.reads(id).intersects(&tainted) {
                    tainted = tainted.union(look.writes(id));
                }
            }
        }
        let Some(wait) = waits.first() else {
            continue;
        };
        let chases = loads().any(|(id, _)| look.reads(id).intersects(&tainted));
        let ahead = wait.slowest.is_none_or(|load| load > wait.at);
        let moves = |load| look.reads(load).intersects(&look.written_in(report));
        let stays = wait.slowest.is_some_and(|load| !moves(load));
        if chases || ahead || stays || loads().next().is_none() {
            continue;
        }
        let stall: f64 = waits.iter().filter_map(|wait| wait.stall).sum();
        let issue = report.costs.issue.known;
        let gain = stall.min((issue - wait.work_between - 2.0).max(0.0));
        if gain < 1.0 {
            continue;
        }
        let exposed: f64 = waits.iter().filter_map(|wait| wait.exposed).sum();
        let severity = match exposed > 0.0 {
            true => Severity::High,
            false => Severity::Low,
        };
        let message = format!(
            "the wait at {:#x} stands {} cycles for the load at {:#x} of the same iteration; {} \
             remain when the other simdgroups run",
            wait.offset,
            number(stall),
            wait.slowest.map_or(0, |id| main.offset(id)),
            number(exposed)
        );
        out.push(finding(
            look,
            severity,
            (wait.slowest.unwrap_or(wait.at), wait.at),
            message,
            Some((Metric::LoopAlone, gain)),
        ));
    }
}

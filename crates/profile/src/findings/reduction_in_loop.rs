//! A reduction over the simdgroup runs in every iteration.
//!
//! ## What it does
//! Finds `simd_sum`, `simd_max`, prefix sums and their quad forms inside loops.
//!
//! ## Why it matters
//! A reduction takes about 15 issue slots and its result nearly 30 cycles, as much as
//! 15 multiply-adds.
//!
//! ## What to do
//! Accumulate per lane in the loop and reduce once after it.
//!
//! ## Gain
//! The issue slots of the reductions, per iteration.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::Op;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let found: Vec<_> = look
            .own_body(report)
            .into_iter()
            .filter(|(_, insn)| insn.op() == Op::Reduce)
            .map(|(id, _)| id)
            .collect();
        let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
            continue;
        };
        let slots: f64 = found.iter().map(|&id| look.issue(id)).sum();
        let message = format!(
            "{} {} {} of {} issue slots per iteration of the loop at {:#x}",
            counted(found.len(), "reduction"),
            does(found.len(), "takes"),
            number(slots),
            number(report.costs.issue.known),
            report.start
        );
        let gain = Some((Metric::LoopIssue, slots));
        out.push(finding(look, Severity::High, (first, last), message, gain));
    }
}

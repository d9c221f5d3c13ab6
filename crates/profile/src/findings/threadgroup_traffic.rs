//! A loop is limited by what it moves through threadgroup memory.
//!
//! ## What it does
//! Finds loops whose threadgroup accesses take more memory-unit cycles than the loop
//! has issue slots.
//!
//! ## Why it matters
//! A core moves 64 bytes per cycle to and from threadgroup memory, 16 per scheduler:
//! a 32-bit value per lane takes 8 cycles, as long as eight multiply-adds.
//!
//! ## What to do
//! Use each loaded value more often: compute several outputs per thread, keep tiles in
//! registers, exchange through `simd_shuffle`, or use `simdgroup_matrix`.
//!
//! ## Gain
//! The memory-unit cycles beyond the loop's issue slots.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::Space;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let found: Vec<_> = look
            .own_body(report)
            .into_iter()
            .filter(|(_, insn)| {
                insn.memory()
                    .is_some_and(|access| access.space == Space::Threadgroup)
            })
            .map(|(id, _)| id)
            .collect();
        let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
            continue;
        };
        let cycles: f64 = found.iter().map(|&id| look.cycles(id)).sum();
        let issue = report.costs.issue.known;
        if cycles <= issue {
            continue;
        }
        let message = format!(
            "{} of the loop at {:#x} {} threadgroup memory for {} cycles per iteration, against \
             {} issue slots",
            counted(found.len(), "instruction"),
            report.start,
            does(found.len(), "uses"),
            number(cycles),
            number(issue)
        );
        let gain = Some((Metric::Memory, (cycles - issue) * look.weight(first)));
        out.push(finding(
            look,
            Severity::Medium,
            (first, last),
            message,
            gain,
        ));
    }
}

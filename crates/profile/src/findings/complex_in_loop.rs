//! Reciprocals, roots, exponentials or sines decide a loop's speed.
//!
//! ## What it does
//! Finds transcendental operations in loops whose complex unit is busier than its
//! scheduler.
//!
//! ## Why it matters
//! The complex unit takes 4 to 8 cycles per operation and runs beside the others. While
//! it has room these operations are nearly free; once it is full it sets the pace.
//!
//! ## What to do
//! Hoist what does not change (divide once, multiply often), share a reciprocal
//! between divisions, use `fast::` functions, or trade for multiply-adds, which have
//! room.
//!
//! ## Gain
//! The complex-unit cycles of these operations, per iteration.

use super::{Finding, Look, Metric, Severity, finding};
use crate::cost::number;
use assay_agx::Class;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let (ic, issue) = (report.costs.ic.known, report.costs.issue.known);
        if ic <= issue {
            continue;
        }
        let found: Vec<_> = look
            .own_body(report)
            .into_iter()
            .filter(|(_, insn)| insn.class() == Class::Transcendental)
            .map(|(id, _)| id)
            .collect();
        let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
            continue;
        };
        let cycles: f64 = found.iter().map(|&id| look.cycles(id)).sum();
        let message = format!(
            "{} transcendental operations take {} of {} complex-unit cycles per iteration of the \
             loop at {:#x}, which has {} issue slots",
            found.len(),
            number(cycles),
            number(ic),
            report.start,
            number(issue)
        );
        let gain = Some((Metric::LoopComplex, cycles));
        out.push(finding(
            look,
            Severity::Medium,
            (first, last),
            message,
            gain,
        ));
    }
}

//! Reciprocals, roots, exponentials or sines decide a loop's speed.
//!
//! ## What it does
//! Finds reciprocals (a division or remainder of integers has one too), roots,
//! exponentials, logarithms and sines in loops whose complex unit is busier than its
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

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::Class;
use std::collections::BTreeSet;

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
            .collect();
        let (Some(&(first, _)), Some(&(last, _))) = (found.first(), found.last()) else {
            continue;
        };
        let names: BTreeSet<&str> = found.iter().map(|(_, insn)| insn.mnemonic()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let cycles: f64 = found.iter().map(|&(id, _)| look.cycles(id)).sum();
        let message = format!(
            "{} ({}) {} {} of {} complex-unit cycles per iteration of the loop at {:#x}, which has {} \
             issue slots",
            counted(found.len(), "operation"),
            names.join(", "),
            does(found.len(), "takes"),
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

//! Conversions between integers and floats in a loop.
//!
//! ## What it does
//! Finds `convert` in loops when all conversions together take at least a quarter of
//! the iteration's cycles.
//!
//! ## Why it matters
//! A conversion occupies the complex unit for 4 cycles, like an exponential. (Between
//! half and float there is no conversion: arithmetic reads and writes both.)
//!
//! ## What to do
//! Keep a float counter beside the integer one, convert outside the loop, or unpack
//! small integers with memory formats that convert for free (`unorm`).
//!
//! ## Gain
//! The complex-unit cycles of the conversions, per iteration.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::Op;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let found: Vec<_> = look
            .own_body(report)
            .into_iter()
            .filter(|(_, insn)| insn.op() == Op::Convert)
            .map(|(id, _)| id)
            .collect();
        let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
            continue;
        };
        let cycles: f64 = found.iter().map(|&id| look.cycles(id)).sum();
        let whole = report.costs.alu().known;
        if cycles < whole / 4.0 {
            continue;
        }
        let severity = match cycles > whole / 2.0 {
            true => Severity::Medium,
            false => Severity::Low,
        };
        let message = format!(
            "{} {} {} complex-unit cycles per iteration of the loop at {:#x} \
             ({} cycles)",
            counted(found.len(), "conversion"),
            does(found.len(), "takes"),
            number(cycles),
            report.start,
            number(whole)
        );
        let gain = Some((Metric::LoopComplex, cycles));
        out.push(finding(look, severity, (first, last), message, gain));
    }
}

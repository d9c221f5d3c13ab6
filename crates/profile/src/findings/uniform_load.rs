//! A load reads the same address in every thread.
//!
//! ## What it does
//! Finds device loads with a uniform base and a constant index, unless the program itself
//! writes to the memory at that base (a flag or counter that others change).
//!
//! ## Why it matters
//! The value could be in a uniform register before the kernel starts, at no cost per
//! thread: no load, no wait, no register.
//!
//! ## What to do
//! Pass small constants by value in the `constant` address space (`constant Params&`);
//! the compiler then preloads them in the constant program.
//!
//! ## Gain
//! The issue slots of the loads.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::{Op, Operand};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let written = look.written_bases();
    let found: Vec<_> = look
        .executed()
        .filter(|(_, insn)| insn.op() == Op::DeviceLoad)
        .filter(|(_, insn)| {
            insn.memory().is_some_and(|access| {
                matches!(access.base, Operand::Uniform(_))
                    && matches!(access.index, Operand::Imm(_))
                    && !written.contains(&access.base)
            })
        })
        .map(|(id, _)| id)
        .collect();
    let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
        return;
    };
    let slots: f64 = found
        .iter()
        .map(|&id| look.issue(id) * look.weight(id))
        .sum();
    let message = format!(
        "{} {} the same address in every thread ({} issue slots, and the waits)",
        counted(found.len(), "load"),
        does(found.len(), "reads"),
        number(slots)
    );
    let gain = Some((Metric::Issue, slots));
    out.push(finding(
        look,
        Severity::Medium,
        (first, last),
        message,
        gain,
    ));
}

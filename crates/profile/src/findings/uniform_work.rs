//! Work that is the same for every thread.
//!
//! ## What it does
//! Finds instructions whose operands are all uniforms and constants, and operations on
//! their results.
//!
//! ## Why it matters
//! Every thread computes the same value. The constant program could do it once per
//! dispatch and leave it in a uniform.
//!
//! ## What to do
//! Compute it on the CPU and pass it, or keep the expression free of thread-dependent
//! values so that the compiler can move it. Moves from uniforms into registers are not
//! counted: some instructions need a register.
//!
//! ## Gain
//! The issue slots of these instructions.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::{Op, RegSet};

/// Fewer slots than this are not worth a uniform.
const LEAST: f64 = 4.0;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for (_, insns) in look.blocks() {
        // Registers that hold the same value in every lane, within this block.
        let mut same = RegSet::EMPTY;
        for (id, insn) in insns {
            let reads = look.reads(id);
            let uniform = super::look::is_pure(insn)
                && reads.difference(same).is_empty()
                && (!insn.uniforms_read().is_empty() || !reads.is_empty());
            if uniform {
                same = same.union(look.writes(id));
                if !matches!(insn.op(), Op::MovImm | Op::Bitop) && look.if_depth(id) == 0 {
                    found.push(id);
                }
            } else {
                same = same.difference(look.writes(id));
            }
        }
    }
    let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
        return;
    };
    let slots: f64 = found
        .iter()
        .map(|&id| look.issue(id) * look.weight(id))
        .sum();
    if slots < LEAST {
        return;
    }
    let message = format!(
        "{} {} the same value in every thread: {} issue slots",
        counted(found.len(), "instruction"),
        does(found.len(), "computes"),
        number(slots)
    );
    let gain = Some((Metric::Issue, slots));
    out.push(finding(look, Severity::Low, (first, last), message, gain));
}

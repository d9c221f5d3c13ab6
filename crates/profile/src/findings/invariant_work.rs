//! A loop computes the same value in every iteration.
//!
//! ## What it does
//! Finds instructions whose operands the loop never writes, and operations on their
//! results, when nothing else writes the destination.
//!
//! ## Why it matters
//! The work could be done once before the loop. Compilers leave it inside when hoisting
//! would cost a register they lack.
//!
//! ## What to do
//! Compute it before the loop and keep it in a variable; check that occupancy does not
//! drop by the register it needs.
//!
//! ## Gain
//! The issue slots of these instructions, per iteration.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::{Op, RegSet};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let body = look.own_body(report);
        let mut variant = look.written_in(report);
        let mut writes = [0_u8; 256];
        for id in look.main().body(report) {
            for half in look.writes(id).iter() {
                if let Some(count) = writes.get_mut(usize::from(half)) {
                    *count = count.saturating_add(1);
                }
            }
        }
        let once = |set: RegSet| {
            set.iter()
                .all(|half| writes.get(usize::from(half)) == Some(&1))
        };
        let Some(&(first_id, _)) = body.first() else {
            continue;
        };
        let depth = look.if_depth(first_id);
        let mut found = Vec::new();
        for &(id, insn) in &body {
            let reads = look.reads(id);
            // Constants are cheaper to make again than to keep.
            let work = super::look::is_pure(insn) && insn.op() != Op::MovImm && !is_move(insn);
            if work
                && !reads.intersects(&variant)
                && once(look.writes(id))
                && look.if_depth(id) == depth
            {
                variant = variant.difference(look.writes(id));
                found.push(id);
            }
        }
        let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
            continue;
        };
        let slots: f64 = found.iter().map(|&id| look.issue(id)).sum();
        let message = format!(
            "{} of the loop at {:#x} {} the same in every iteration: {} of {} \
             issue slots",
            counted(found.len(), "instruction"),
            report.start,
            does(found.len(), "computes"),
            number(slots),
            number(report.costs.issue.known)
        );
        let severity = match slots > report.costs.issue.known / 4.0 {
            true => Severity::Medium,
            false => Severity::Low,
        };
        let gain = Some((Metric::LoopIssue, slots));
        out.push(finding(look, severity, (first, last), message, gain));
    }
}

/// A copy, written as a bitwise operation.
fn is_move(insn: &assay_agx::Instruction) -> bool {
    insn.op() == Op::Bitop && matches!(insn.truth_table(), Some(0b1010 | 0b1100))
}

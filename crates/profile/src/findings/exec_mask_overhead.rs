//! A loop spends its slots on switching lanes.
//!
//! ## What it does
//! Counts execution-mask instructions and jumps of a loop beyond its own test and jump,
//! when they take at least a quarter of the iteration's issue slots.
//!
//! ## Why it matters
//! `if`, `else`, `pop_exec` and `while` take a slot each and do no work.
//!
//! ## What to do
//! Replace branches by selects, move loop-invariant conditions out of the loop, unroll
//! so that one test serves several iterations.
//!
//! ## Gain
//! The slots of these instructions, per iteration.

use super::{Finding, Look, Metric, Severity, counted, does, finding};
use crate::cost::number;
use assay_agx::{ExecEffect, Op};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let mut tests = 0;
        let mut jumps = 0;
        let found: Vec<_> = look
            .own_body(report)
            .into_iter()
            .filter(|(_, insn)| match insn.op() {
                Op::JmpExecAny => {
                    jumps += 1;
                    jumps > 1
                }
                Op::JmpExecNone => true,
                _ => match insn.exec_effect() {
                    ExecEffect::While(_) => {
                        tests += 1;
                        tests > 1
                    }
                    ExecEffect::None | ExecEffect::End => false,
                    _ => true,
                },
            })
            .map(|(id, _)| id)
            .collect();
        let (Some(&first), Some(&last)) = (found.first(), found.last()) else {
            continue;
        };
        let slots: f64 = found.iter().map(|&id| look.issue(id)).sum();
        let issue = report.costs.issue.known;
        if slots < issue / 4.0 {
            continue;
        }
        let message = format!(
            "{} of the loop at {:#x} only {} lanes on or off or {}: {} of {} issue slots",
            counted(found.len(), "instruction"),
            report.start,
            does(found.len(), "turns"),
            does(found.len(), "skips"),
            number(slots),
            number(issue)
        );
        let gain = Some((Metric::LoopIssue, slots));
        out.push(finding(look, Severity::Low, (first, last), message, gain));
    }
}

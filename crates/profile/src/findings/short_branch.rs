//! A branch is shorter than what it costs to branch.
//!
//! ## What it does
//! Finds an `if` around at most four arithmetic instructions, without `else`, that ends
//! in `pop_exec`.
//!
//! ## Why it matters
//! The simdgroup walks through the body whether lanes skip it or not; masking the lanes
//! off and on takes two slots more. A select does the same in one slot per result.
//!
//! ## What to do
//! Compute both sides and choose: `x = c ? a : b`, `select`, `min`, `max`, `clamp`.
//!
//! ## Gain
//! The slots of `if`, `pop_exec` and the body's moves, less one select per result.

use super::{Finding, Look, Metric, Severity, finding};
use crate::cfg::End;
use crate::cost::number;
use crate::lanes::constant_condition;
use assay_agx::{ExecEffect, Op};

const LONGEST: usize = 4;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let cfg = &look.main().cfg;
    let blocks: Vec<_> = cfg.reached().map(|(_, block)| block).collect();
    for pair in blocks.windows(2) {
        let [before, body] = pair else {
            continue;
        };
        let opens = matches!(before.end, End::Mask(ExecEffect::If(_)))
            && look
                .insn(before.last())
                .is_some_and(|insn| constant_condition(insn).is_none());
        if !opens
            || !matches!(body.end, End::Mask(ExecEffect::Pop(_)))
            || body.insns.start != before.insns.end
        {
            continue;
        }
        let work: Vec<_> = body.ids().filter(|&id| id != body.last()).collect();
        let pure = work
            .iter()
            .all(|&id| look.insn(id).is_some_and(super::look::is_pure));
        if !pure || work.is_empty() || work.len() > LONGEST {
            continue;
        }
        // Results that outlive the body need a select each; at most one per instruction.
        let mut results = 0.0;
        let mut moves = 0.0;
        for (place, &id) in work.iter().enumerate() {
            let Some(insn) = look.insn(id) else {
                continue;
            };
            let overwritten = work
                .iter()
                .skip(place + 1)
                .filter_map(|&later| look.insn(later))
                .any(|later| later.writes().intersects(&insn.writes()));
            if !overwritten {
                results += 1.0;
            }
            if matches!(insn.op(), Op::MovImm | Op::Bitop) {
                moves += look.issue(id);
            }
        }
        let slots = look.issue(before.last()) + look.issue(body.last()) + moves - results;
        if slots <= 0.0 {
            continue;
        }
        let gain = slots * look.weight(body.last());
        let message = format!(
            "the branch at {:#x} masks {} instruction{}; a select saves {} issue slots",
            look.main().offset(before.last()),
            work.len(),
            if work.len() == 1 { "" } else { "s" },
            number(gain)
        );
        out.push(finding(
            look,
            Severity::Low,
            (before.last(), body.last()),
            message,
            Some((Metric::Issue, gain)),
        ));
    }
}

//! A wait stands before it has to.
//!
//! ## What it does
//! Looks at the instructions after a wait that stalls: those that do not touch the
//! loaded registers could run before it.
//!
//! ## Why it matters
//! Work between a load and its wait is free; the same work after the wait is not.
//!
//! ## What to do
//! Move independent work up in the source, or interleave two independent pieces of
//! work, so that the compiler has something to put there. In hand-written code, move
//! the wait down.
//!
//! ## Gain
//! The independent issue slots that follow the wait, as far as it stalls.

use super::{Finding, Look, Metric, Severity, finding};
use crate::InsnId;
use crate::cost::number;
use assay_agx::{Op, RegSet};

/// Fewer slots than this are not worth moving.
const LEAST: f64 = 4.0;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let main = look.main();
    for wait in &main.waits {
        let Some(stall) = wait.stall.filter(|&stall| stall > LEAST) else {
            continue;
        };
        let Some(block) = main.cfg.block_of(wait.at).and_then(|id| main.cfg.block(id)) else {
            continue;
        };
        let mut loaded = RegSet::EMPTY;
        let mut only_loads = !wait.producers.is_empty();
        for &producer in &wait.producers {
            if let Some(insn) = look.insn(producer) {
                loaded = loaded.union(insn.writes());
                only_loads &= matches!(insn.op(), Op::DeviceLoad | Op::StackLoad);
            }
        }
        let mut slots = 0.0;
        let mut last = wait.at;
        for index in wait.at.0 + 1..block.insns.end {
            let id = InsnId(index);
            let Some(insn) = look.insn(id) else {
                break;
            };
            let touches = insn.reads().union(insn.writes()).intersects(&loaded);
            if touches || !super::look::is_pure(insn) {
                break;
            }
            slots += look.issue(id);
            last = id;
        }
        if !only_loads || slots < LEAST {
            continue;
        }
        let gain = slots.min(stall);
        let message = format!(
            "{} issue slots after the wait at {:#x} do not need what it waits for; it stalls a \
             simdgroup alone for {} cycles",
            number(slots),
            wait.offset,
            number(stall)
        );
        out.push(finding(
            look,
            Severity::Medium,
            (wait.at, last),
            message,
            Some((Metric::Alone, gain * look.weight(wait.at))),
        ));
    }
}

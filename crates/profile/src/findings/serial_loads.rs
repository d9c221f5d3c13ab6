//! A load waits for another it does not depend on.
//!
//! ## What it does
//! Finds a wait that stalls for a load, followed in the same block by another load whose
//! address does not come from the loaded data.
//!
//! ## Why it matters
//! Two latencies one after the other take twice as long as two that overlap.
//!
//! ## What to do
//! Move the second load before the wait: load everything first, then compute. Compilers
//! keep the order of loads around stores and barriers that may alias; `restrict` or
//! loading into locals first helps.
//!
//! ## Gain
//! The shorter of the two stalls, for a simdgroup alone.

use super::{Finding, Look, Metric, Severity, finding};
use crate::cost::number;
use assay_agx::{Op, RegSet};

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    let main = look.main();
    for pair in main.waits.windows(2) {
        let [first, second] = pair else {
            continue;
        };
        let (Some(stall), Some(later)) = (first.stall, second.stall) else {
            continue;
        };
        let block = main.cfg.block_of(first.at);
        if stall <= 1.0 || later <= 1.0 || block != main.cfg.block_of(second.at) {
            continue;
        }
        // The loads of the second wait that were issued after the first.
        let late = second
            .producers
            .iter()
            .copied()
            .filter(|&id| id > first.at && id < second.at)
            .filter(|&id| {
                look.insn(id)
                    .is_some_and(|insn| insn.op() == Op::DeviceLoad)
            });
        let Some(late) = late.min() else {
            continue;
        };
        // What depends on the data the first wait delivered.
        let mut tainted = RegSet::EMPTY;
        for &producer in &first.producers {
            if let Some(insn) = look.insn(producer) {
                tainted = tainted.union(insn.writes());
            }
        }
        let mut blocked = false;
        for index in first.at.0 + 1..late.0 {
            let Some(insn) = look.insn(crate::InsnId(index)) else {
                continue;
            };
            blocked |= matches!(
                insn.op(),
                Op::DeviceStore | Op::Atomic | Op::ThreadgroupBarrier | Op::MemoryBarrier
            );
            tainted = match insn.reads().intersects(&tainted) {
                true => tainted.union(insn.writes()),
                false => tainted.difference(insn.writes()),
            };
        }
        let depends = look
            .insn(late)
            .is_none_or(|insn| insn.reads().intersects(&tainted));
        if blocked || depends {
            continue;
        }
        let gain = stall.min(later);
        let message = format!(
            "the load at {:#x} could be in flight during the wait at {:#x}; a simdgroup alone \
             stands {} + {} cycles",
            main.offset(late),
            first.offset,
            number(stall),
            number(later)
        );
        out.push(finding(
            look,
            Severity::Medium,
            (first.at, second.at),
            message,
            Some((Metric::Alone, gain * look.weight(late))),
        ));
    }
}

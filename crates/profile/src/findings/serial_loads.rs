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
    let mut found: Vec<Run> = Vec::new();
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
        let gain = stall.min(later) * look.weight(late);
        match found.last_mut() {
            Some(run) if Some(run.block) == block => {
                run.last = second.at;
                run.loads += 1;
                run.gain += gain;
            }
            _ => found.push(Run {
                block: block.unwrap_or(crate::BlockId(0)),
                first: first.at,
                last: second.at,
                load: late,
                loads: 1,
                gain,
            }),
        }
    }
    for run in found {
        let others = match run.loads {
            1 => String::new(),
            loads => format!(", and {} more like it in this block", loads - 1),
        };
        let message = format!(
            "the load at {:#x} could be in flight during the wait at {:#x}{others}; a simdgroup \
             alone stands {} cycles longer for it",
            main.offset(run.load),
            main.offset(run.first),
            number(run.gain)
        );
        let gain = Some((Metric::Alone, run.gain));
        let range = (run.first, run.last);
        out.push(finding(look, Severity::Medium, range, message, gain));
    }
}

/// Waits of one block that stand one after the other.
struct Run {
    block: crate::BlockId,
    first: crate::InsnId,
    last: crate::InsnId,
    load: crate::InsnId,
    loads: usize,
    gain: f64,
}

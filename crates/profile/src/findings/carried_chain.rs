//! A loop waits for its own previous iteration.
//!
//! ## What it does
//! Compares the chain of dependences that each iteration hands to the next with the
//! issue slots of an iteration, for loops whose chain is longer.
//!
//! ## Why it matters
//! However many units are free, an iteration cannot finish before the value it needs
//! from the last one. Other simdgroups fill the gap only while there are enough of them.
//!
//! ## What to do
//! Sums: use several accumulators and add them at the end. Pointer chasing: store
//! indices instead of links, or walk several lists at once.
//!
//! ## Gain
//! The cycles per iteration by which the chain exceeds the issue slots.

use super::{Finding, Look, Metric, Severity, counted, finding};
use crate::bounds::BoundKind;
use crate::cost::number;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Finding>) {
    for report in &look.main().loops {
        let Some(chain) = &report.carried else {
            continue;
        };
        let issue = report.costs.issue.known;
        if chain.cycles <= issue * 1.25 || !look.main().loop_nest.is_innermost(report.id) {
            continue;
        }
        let (Some(&first), Some(&last)) = (
            chain.instructions.iter().min(),
            chain.instructions.iter().max(),
        ) else {
            continue;
        };
        let decides = matches!(
            report.bounds.verdict,
            Some(BoundKind::Dependence | BoundKind::MemoryLatency)
        );
        let severity = match decides {
            true => Severity::High,
            false => Severity::Low,
        };
        let message = format!(
            "the loop at {:#x} carries a chain of {} and {} cycles per iteration, \
             against {} issue slots",
            report.start,
            counted(chain.instructions.len(), "instruction"),
            number(chain.cycles),
            number(issue)
        );
        let gain = (report.bounds.alone.known - issue).min(chain.cycles - issue);
        out.push(finding(
            look,
            severity,
            (first, last),
            message,
            Some((Metric::LoopAlone, gain.max(0.0))),
        ));
    }
}

//! `small-dispatches`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Counts dispatches of a recorded program that take less time (modelled) than the gap from one dispatch to the next.
    ///
    /// ## Why it matters
    /// A GPU drains and refills between dispatches that wait for each other. Where kernels are shorter than that gap, most of the time goes
    /// into it, whatever the kernels do.
    ///
    /// ## What to do
    /// Merge neighbours: fuse element-wise chains, compile the graph, do several rows or heads in one dispatch. Dispatches that do not
    /// depend on each other can share a gap in a concurrent encoder.
    ///
    /// ## Gain
    /// The gaps after these dispatches; each dispatch merged into a neighbour saves one. How long a gap is, is known within a factor of
    /// three.
    "small-dispatches",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let small = &program.small;
    if small.gaps_ms < 0.05 * program.gpu_ms || small.count < 8 {
        return None;
    }
    let severity = match small.gaps_ms >= 0.25 * program.gpu_ms {
        true => Severity::High,
        false => Severity::Medium,
    };
    with_gain(
        finding(
            &RULE,
            severity,
            format!(
                "{} of {} dispatches take less time than the gap after them: {:.3} ms of work, {:.3} ms of gaps (modelled)",
                small.count, program.dispatches, small.own_ms, small.gaps_ms
            ),
            "merge them: fuse element-wise chains, compile the graph, do more in one dispatch",
            "medium",
        ),
        format!("at most {}", part_of(small.gaps_ms, program.gpu_ms)),
    )
}

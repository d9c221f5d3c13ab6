//! `tail`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports labels whose slowest executions take far longer than the typical one.
    ///
    /// ## Why it matters
    /// A long tail points to clock changes, contention, cold caches, first use of a pipeline, or inputs of very different
    /// sizes. Means hide it; users feel it.
    ///
    /// ## What to do
    /// Compare the slow executions with the clock states and other processes in the timeline (`--format html`), and leave
    /// the first executions out when measuring.
    "tail",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let worst = analysis
        .labels
        .iter()
        .filter(|label| {
            label.count >= 20 && label.max_us > 20.0 * label.median_us && label.max_us > 100.0
        })
        .max_by(|a, b| (a.max_us / a.median_us).total_cmp(&(b.max_us / b.median_us)))?;
    finding(
        &RULE,
        Severity::Low,
        format!(
            "the slowest execution of {} took {:.1} µs, {:.0} times the median of {:.1} µs",
            worst.label,
            worst.max_us,
            worst.max_us / worst.median_us,
            worst.median_us
        ),
        "look at it in the timeline: clock ramp, another process, or first use?",
        "low",
    )
}

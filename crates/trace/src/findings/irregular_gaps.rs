//! `irregular-gaps`.

use super::{Facts, finding, part_of, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports gaps of very different length: their quartiles lie farther apart than their median, and gaps between the same
    /// two labels differ, too.
    ///
    /// ## Why it matters
    /// Regular gaps are a fixed price per launch or wait; batching removes them. Irregular ones come from what the host happens
    /// to do: reading files, allocating, collecting garbage, waiting for a lock, being scheduled away. Batching does not help.
    ///
    /// ## What to do
    /// Record with the Time Profiler and look at the functions that ran while the GPU waited; look at the longest gaps
    /// (`assay trace report -v`) and what stood before them.
    "irregular-gaps",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let regularity = analysis.gaps.regularity.as_ref()?;
    let idle = analysis.gaps.total_ms;
    if regularity.kind != "irregular" || idle < analysis.window.span_ms * 0.2 {
        return None;
    }
    finding(
        &RULE,
        Severity::Low,
        format!(
            "gaps are irregular: their quartiles are {:.1} times the median apart; idle {}",
            regularity.spread,
            part_of(idle, analysis.window.span_ms)
        ),
        "find what the host does in the long ones: CPU samples show it (time-profile)",
        "medium",
    )
}

//! `lost-rows`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports executions on the GPU for which the recording has no encoder on the host, or no completion notice.
    ///
    /// ## Why it matters
    /// Recordings lose rows under load. Joins between tables then cover only part of the run.
    ///
    /// ## What to do
    /// Record shorter, with fewer instruments, and to a fast disk. Figures computed from a single table are not affected.
    "lost-rows",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let cpu = facts.analysis.cpu.unmatched_executions.unwrap_or(0);
    let has_completions = facts
        .view
        .recording
        .has_table("metal-command-buffer-completed");
    let completion = if has_completions {
        facts.analysis.completion.missing
    } else {
        0
    };
    let rows = facts.analysis.intervals.rows_target;
    let unusable: u64 = facts
        .analysis
        .recording
        .tables
        .iter()
        .map(|table| table.unusable)
        .sum();
    if rows == 0 || (cpu + completion + unusable) * 50 < rows {
        return None;
    }
    finding(
        &RULE,
        Severity::Low,
        format!(
            "{cpu} executions have no encoder row, {completion} command buffers no completion notice, {unusable} rows could not be read"
        ),
        "record shorter and with fewer instruments",
        "low",
    )
}

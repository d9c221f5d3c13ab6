//! `idle-phases`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports that the window contains long pauses which split the run into phases, such as loading a model and
    /// generating with it.
    ///
    /// ## Why it matters
    /// Utilisation is busy time over the window. The same command was measured as 17 % and 66 % busy, depending on whether
    /// loading and an idle tail were counted.
    ///
    /// ## What to do
    /// Look at one phase: `--phase N`, or `--from` and `--to`.
    "idle-phases",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let window = &facts.analysis.window;
    if window.phases.len() < 2 || facts.view.window_given {
        return None;
    }
    let largest = window
        .phases
        .iter()
        .max_by(|a, b| a.busy_ms.total_cmp(&b.busy_ms))?;
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "pauses of {:.0} ms or more split the run into {} phases; phase {} alone has a utilisation of {:.1} %",
            window.phase_gap_ms,
            window.phases.len(),
            largest.number,
            largest.utilization * 100.0
        ),
        "look at one phase: --phase N, or --from and --to",
        "low",
    )
}

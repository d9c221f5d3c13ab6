//! `remade-pipelines`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Counts pipelines that a recorded program made although it had made one of the same function, library and constants.
    ///
    /// ## Why it matters
    /// Making a pipeline takes milliseconds on the host, more than most kernels run.
    ///
    /// ## What to do
    /// Keep pipelines by function and constants for as long as the device lives.
    ///
    /// ## Gain
    /// Host time, which is not part of the modelled GPU time; the report gives what it took on the host that recorded.
    "remade-pipelines",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let remade = &program.remade;
    if remade.count < 2 {
        return None;
    }
    finding(
        &RULE,
        if remade.count >= 16 {
            Severity::Medium
        } else {
            Severity::Low
        },
        format!(
            "{} pipelines were made again for a function and constants that had one: {:.1} ms (host)",
            remade.count, remade.host_ms
        ),
        "keep pipelines in a table by function and constants",
        "low",
    )
}

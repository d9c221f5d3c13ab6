//! `unpredicted-kernels`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Says which kernels of a recorded program have no predicted time, and why.
    ///
    /// ## Why it matters
    /// The program's modelled GPU time is without them.
    ///
    /// ## What to do
    /// The reason says what is missing: the library (record again with it in place), an operation without a known encoding, a grid that a
    /// buffer decides.
    "unpredicted-kernels",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let missing: u64 = program.unpredicted.iter().map(|one| one.dispatches).sum();
    let first = program.unpredicted.first()?;
    finding(
        &RULE,
        if 20 * missing >= program.dispatches {
            Severity::High
        } else {
            Severity::Low
        },
        format!(
            "{missing} of {} dispatches, of {} kernels, have no predicted time: {}: {}",
            program.dispatches,
            program.unpredicted.len(),
            first.kernel,
            first.reason
        ),
        "times and shares are without these; --full lists all",
        "medium",
    )
}

//! `clock-ramp`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports that the GPU did not run at its highest clock for most of the window.
    ///
    /// ## Why it matters
    /// An idle GPU runs at its lowest clock and takes some 240 ms of steady work to ramp up. Times of the first executions, and
    /// of runs that never keep the GPU busy, are not times of the kernels.
    ///
    /// ## What to do
    /// Warm up for half a second before measuring, and compare only recordings in the same clock state.
    "clock-ramp",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let states = &facts.analysis.clock_states;
    let highest = states
        .iter()
        .find(|state| state.state == "Maximum")
        .map_or(0.0, |state| state.share);
    let top = states.first()?;
    if highest >= 0.8 {
        return None;
    }
    finding(
        &RULE,
        Severity::Low,
        format!(
            "the GPU ran at its highest clock for {:.0} % of the window; mostly it was at {} ({:.0} %)",
            highest * 100.0,
            top.state,
            top.share * 100.0
        ),
        "warm up before measuring; compare only recordings in the same clock state",
        "low",
    )
}

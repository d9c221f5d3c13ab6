//! `thermal-pressure`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports that the machine was not in its nominal thermal state.
    ///
    /// ## Why it matters
    /// A hot machine lowers its clocks. Times of such a recording say more about the cooling than about the program.
    ///
    /// ## What to do
    /// Let the machine cool down and record again; record shorter.
    "thermal-pressure",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let hot = facts
        .analysis
        .thermal_states
        .iter()
        .find(|state| state.state != "Nominal" && state.share > 0.05)?;
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "the machine was in thermal state {} for {:.0} % of the window",
            hot.state,
            hot.share * 100.0
        ),
        "let the machine cool down and record again",
        "low",
    )
}

//! `unlabelled-work`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports GPU work that carries only the labels Metal makes up (`Compute Command 0`). Recordings of programs have the names of
    /// kernels, and need none.
    ///
    /// ## Why it matters
    /// Without labels a report cannot say which operation the time belongs to.
    ///
    /// ## What to do
    /// Set `label` on command buffers and encoders (`setLabel:`). Build MLX with `MLX_METAL_DEBUG=ON`; candle and llama.cpp
    /// label theirs. `MLX_MAX_OPS_PER_BUFFER=1` gives one primitive per buffer, but changes the timing.
    "unlabelled-work",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    if analysis.program.is_some() {
        return None;
    }
    let unlabelled: f64 = analysis
        .labels
        .iter()
        .filter(|label| crate::analysis::labels::is_default(&label.label))
        .map(|label| label.share)
        .sum();
    if unlabelled < 0.5 {
        return None;
    }
    finding(
        &RULE,
        Severity::Low,
        format!(
            "{:.0} % of the target's GPU time carries no label of its own",
            unlabelled * 100.0
        ),
        "label command buffers and encoders (MLX: build with MLX_METAL_DEBUG=ON)",
        "low",
    )
}

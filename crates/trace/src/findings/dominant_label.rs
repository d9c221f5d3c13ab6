//! `dominant-label`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Names a label that takes at least 30 % of the target's GPU time, when the GPU is busy. Recordings of programs know their kernels:
    /// `tune-first` speaks of those.
    ///
    /// ## Why it matters
    /// Making the largest part faster is the only way to make the whole much faster.
    ///
    /// ## What to do
    /// Look inside that kernel: `assay profile` shows its registers, occupancy, memory operations and stalls; `assay bench`
    /// measures it against a reference.
    "dominant-label",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    if analysis.program.is_some() {
        return None;
    }
    let top = analysis.families.first()?;
    if top.share < 0.3 || analysis.gpu.utilization < 0.5 || analysis.families.len() < 2 {
        return None;
    }
    with_gain(
        finding(
            &RULE,
            Severity::Medium,
            format!(
                "{} takes {:.0} % of the target's GPU time in {} executions of {:.1} µs",
                top.label,
                top.share * 100.0,
                top.count,
                top.mean_us
            ),
            "look inside this kernel first: assay profile KERNEL.metal",
            "high",
        ),
        format!(
            "twice as fast there saves {}",
            part_of(top.total_ms / 2.0, analysis.window.span_ms)
        ),
    )
}

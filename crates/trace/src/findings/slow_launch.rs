//! `slow-launch`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports a high commit-to-start latency while the GPU had nothing else to do.
    ///
    /// ## Why it matters
    /// A committed buffer normally starts within 50 to 150 µs on an idle GPU. More means the driver is busy (wiring memory,
    /// resource tracking, many resources per buffer), the GPU has to wake up, or another process is in the way.
    ///
    /// ## What to do
    /// Use resource heaps and residency sets instead of thousands of single resources, avoid allocating while running,
    /// keep the GPU awake with work queued ahead.
    "slow-launch",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let gaps = &analysis.gaps;
    let launch = gaps.launch_ms - gaps.contended_ms;
    let mean_us = launch * 1e3 / gaps.count.max(1) as f64;
    if gaps.count < 4 || mean_us < 200.0 || launch < analysis.window.span_ms * 0.1 {
        return None;
    }
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "committed work took {mean_us:.0} µs on average to start although the GPU was free"
        ),
        "keep work queued ahead; use heaps or residency sets; do not allocate while running",
        "medium",
    )
}

//! `tiny-encoders`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Finds runs whose typical encoder execution is shorter than 20 µs.
    ///
    /// ## Why it matters
    /// Starting and draining an encoder costs the GPU a few microseconds. Thousands of tiny executions are what an
    /// unfused (eager) program looks like; the same program compiled shows few dense ones.
    ///
    /// ## What to do
    /// Fuse element-wise chains into one kernel, compile the graph (`mx.compile`, `torch.compile`), put several dispatches
    /// into one encoder, give each dispatch more work.
    ///
    /// ## Gain
    /// The report names the time between executions inside the window; fusion removes part of it and the memory traffic
    /// of intermediate results as well. `assay trace compare` shows whether it worked.
    "tiny-encoders",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let median = analysis.intervals.median_us?;
    if analysis.intervals.rows_target < 100 || median >= 20.0 {
        return None;
    }
    let severity = if analysis.gpu.utilization < 0.5 {
        Severity::High
    } else {
        Severity::Medium
    };
    finding(
        &RULE,
        severity,
        format!(
            "{} encoder executions with a median of {median:.1} µs",
            analysis.intervals.rows_target
        ),
        "fuse: compile the graph, merge element-wise chains, put more work into each dispatch",
        "medium",
    )
}

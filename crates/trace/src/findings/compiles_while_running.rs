//! `compiles-while-running`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports shader compilations of the target inside the window.
    ///
    /// ## Why it matters
    /// Compiling a pipeline takes milliseconds to seconds, and the first use of a kernel pays for it. Timings that contain
    /// compilations are not timings of kernels.
    ///
    /// ## What to do
    /// Create pipeline states before the measured part, use binary archives or a warm-up step, and choose a window without
    /// compilations (`--from`).
    "compiles-while-running",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let view = facts.view;
    let ours = view
        .recording
        .events
        .compilations
        .iter()
        .filter(|named| view.is_target(named.pid));
    let spans: Vec<_> = ours
        .filter_map(|named| named.span.clip(view.window))
        .collect();
    if spans.is_empty() {
        return None;
    }
    let time = spans.iter().map(|span| span.duration()).sum::<u64>() as f64 / 1e6;
    finding(
        &RULE,
        if time >= facts.analysis.window.span_ms * 0.1 {
            Severity::Medium
        } else {
            Severity::Low
        },
        format!(
            "{} shader compilations ({time:.1} ms) fall into the window",
            spans.len()
        ),
        "create pipeline states before the measured part, or warm up first",
        "low",
    )
}

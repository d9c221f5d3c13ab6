//! `memory-growth`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};
use assay_report::number::bytes;

rule! {
    /// ## What it does
    /// Reports Metal memory (`currentAllocatedSize`) that keeps growing: its lowest level rises through the second, third and
    /// fourth quarter of the window. The first quarter is left out, in which programs load what they need.
    ///
    /// ## Why it matters
    /// Memory that only grows is a leak, or a cache without a limit. It ends in swapping, or in an allocation that fails
    /// hours later.
    ///
    /// ## What to do
    /// Look at the resources that were not freed (`metal-resource-allocations`), release buffers, drain autorelease pools in
    /// the loop, limit the framework's cache (`mx.set_cache_limit`). A key-value cache grows by design: compare its size.
    "memory-growth",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let memory = &facts.analysis.memory;
    if memory.growing != Some(true) {
        return None;
    }
    let (first, last) = memory.first_bytes.zip(memory.last_bytes)?;
    let rate = memory.growth_bytes_per_s.filter(|&rate| rate > 0.0)?;
    let severity = if last > first.saturating_mul(2) {
        Severity::High
    } else {
        Severity::Medium
    };
    finding(
        &RULE,
        severity,
        format!(
            "Metal memory grows from {} to {} and does not stop, by {} per second",
            bytes(first),
            bytes(last),
            bytes(rate as u64)
        ),
        "free resources inside the loop, drain autorelease pools, limit caches",
        "medium",
    )
}

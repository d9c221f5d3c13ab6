//! `allocations-while-running`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports Metal resources allocated while the GPU works.
    ///
    /// ## Why it matters
    /// Creating a buffer goes through the kernel and zeroes its pages. In a loop it delays every commit, and the pages must
    /// be wired again.
    ///
    /// ## What to do
    /// Allocate once and reuse, sub-allocate from an `MTLHeap`, or use the framework's cache (`mx.set_cache_limit`).
    "allocations-while-running",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let transfers = &facts.analysis.transfers;
    let allocations = transfers.allocations?;
    let buffers = facts.analysis.intervals.command_buffers.max(1);
    if allocations < 20 || allocations * 4 < buffers {
        return None;
    }
    let size = transfers
        .allocated_bytes
        .map_or_else(|| "unknown size".to_owned(), assay_report::number::bytes);
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "{allocations} Metal resources ({size}) were allocated in the window, for {buffers} command buffers"
        ),
        "allocate once and reuse buffers, or sub-allocate from a heap",
        "low",
    )
}

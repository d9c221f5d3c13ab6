//! `unfreed-resources`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};
use assay_report::number::bytes;

rule! {
    /// ## What it does
    /// Reports Metal resources that were allocated while the GPU worked and never freed, many of one label.
    ///
    /// ## Why it matters
    /// A buffer allocated in every step and freed in none is a leak, even when the level has not become visible yet.
    ///
    /// ## What to do
    /// Find who allocates them (the report names the caller where call stacks were recorded), and release or reuse them.
    "unfreed-resources",
    check
}

/// Fewer of one label are no pattern.
const MANY: u64 = 16;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let memory = &facts.analysis.memory;
    let allocations = facts.analysis.transfers.allocations?;
    let unfreed = memory.unfreed?;
    let group = memory
        .unfreed_groups
        .iter()
        .find(|group| group.count >= MANY)?;
    if unfreed * 2 < allocations {
        return None;
    }
    let name = if group.label.is_empty() {
        format!("unlabelled {}", group.resource)
    } else {
        group.label.clone()
    };
    let by = match &group.caller {
        Some(caller) => format!(", allocated by {caller}"),
        None => String::new(),
    };
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "{unfreed} of {allocations} Metal resources allocated in the window were never freed; most bytes are {} × {name} ({}{by})",
            group.count,
            bytes(group.bytes)
        ),
        "release or reuse them: one set of buffers per step in flight is enough",
        "medium",
    )
}

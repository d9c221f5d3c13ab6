//! `leaked-objects`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};
use assay_report::number::bytes;

rule! {
    /// ## What it does
    /// Reports what the Leaks instrument found: objects on the heap that nothing points to any more.
    ///
    /// ## Why it matters
    /// They can never be freed. Small ones often hold a Metal object, whose memory is not small.
    ///
    /// ## What to do
    /// Look at the function that allocated them. In programs that call Objective-C, a missing autorelease pool around the loop
    /// is the usual cause.
    "leaked-objects",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let leaks = facts.analysis.memory.leaks.as_ref()?;
    let first = leaks.first()?;
    let count: u64 = leaks.iter().map(|leak| leak.count).sum();
    let size: u64 = leaks.iter().map(|leak| leak.bytes).sum();
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "{count} objects ({}) leaked; most of it {} × {} allocated by {}",
            bytes(size),
            first.count,
            first.object,
            if first.frame.is_empty() {
                "an unknown function"
            } else {
                &first.frame
            }
        ),
        "release them where they are made; put an autorelease pool around the loop",
        "medium",
    )
}

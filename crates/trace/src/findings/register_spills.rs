//! `register-spills`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports encoders whose kernels spill registers to memory (`graphics-compiler-spill-events`).
    ///
    /// ## Why it matters
    /// A spilled register is a store and a load to device memory for every thread: a kernel that spills is often limited by
    /// that alone.
    ///
    /// ## What to do
    /// Use fewer live values per thread: smaller tiles, `half` where it suffices, shorter unrolling. `assay profile` shows
    /// where registers are live.
    "register-spills",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let view = facts.view;
    let ours = view
        .recording
        .events
        .spills
        .iter()
        .filter(|spill| view.is_target(spill.pid));
    let (mut encoders, mut most) = (0u64, 0u64);
    for spill in ours.filter(|spill| spill.bytes > 0) {
        encoders += 1;
        most = most.max(spill.bytes);
    }
    if encoders == 0 {
        return None;
    }
    finding(
        &RULE,
        Severity::Medium,
        format!(
            "{encoders} encoders ran kernels that spill registers, up to {}",
            assay_report::number::bytes(most)
        ),
        "reduce live values per thread: smaller tiles, half precision, less unrolling",
        "medium",
    )
}

//! `wiring`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports time the driver spends wiring memory (making pages resident for the GPU) inside the window.
    ///
    /// ## Why it matters
    /// Memory that is not resident is wired when a command buffer that uses it is committed. Large models wired again
    /// and again show up as late starts.
    ///
    /// ## What to do
    /// Put long-lived buffers into an `MTLResidencySet` and request residency once (macOS 15+), allocate from heaps, and
    /// do not exceed the recommended working set size. In MLX see `mx.set_wired_limit`.
    "wiring",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let transfers = &facts.analysis.transfers;
    let (wirings, time) = (transfers.wirings?, transfers.wiring_ms?);
    if wirings == 0 || time < facts.analysis.window.span_ms * 0.02 {
        return None;
    }
    let volume = transfers.wired_bytes.map_or_else(
        || "an unknown volume".to_owned(),
        assay_report::number::bytes,
    );
    finding(
        &RULE,
        Severity::Medium,
        format!("the driver wired memory {wirings} times ({volume}) in {time:.1} ms"),
        "make long-lived buffers resident once: MTLResidencySet, heaps, mx.set_wired_limit",
        "medium",
    )
}

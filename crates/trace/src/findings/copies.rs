//! `copies`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports blit (copy) executions that take a noticeable part of the GPU's time, or that are many and small.
    ///
    /// ## Why it matters
    /// On unified memory a copy moves nothing that the CPU or GPU could not read in place. Copies cost bandwidth, an encoder
    /// each, and often a synchronisation point to read the result.
    ///
    /// ## What to do
    /// Use shared buffers and let kernels read and write them directly, keep intermediate results on the GPU, merge small
    /// copies, avoid `to_cpu`/`contiguous` round trips in the loop. Exports do not say how many bytes a blit moved: label the
    /// encoders to tell them apart, and give their bytes in a work file (`--work`).
    "copies",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let transfers = &facts.analysis.transfers;
    let many =
        transfers.blits >= 100 && transfers.blits * 4 >= facts.analysis.intervals.rows_target;
    if transfers.blits == 0 || (transfers.blit_share < 0.1 && !many) {
        return None;
    }
    let severity = if transfers.blit_share >= 0.4 {
        Severity::High
    } else {
        Severity::Medium
    };
    let volume = match (transfers.blit_bytes, transfers.blit_gbs) {
        (Some(bytes), Some(gbs)) => {
            format!("{} ({gbs:.2} GB/s)", assay_report::number::bytes(bytes))
        }
        _ => "an unknown volume".to_owned(),
    };
    with_gain(
        finding(
            &RULE,
            severity,
            format!(
                "{} blit executions move {volume} in {:.2} ms, {:.0} % of the target's GPU time",
                transfers.blits,
                transfers.blit_ms,
                transfers.blit_share * 100.0
            ),
            "keep data on the GPU: shared buffers instead of copies, one merged copy instead of many",
            "medium",
        ),
        format!(
            "at most {}",
            part_of(transfers.blit_ms, facts.analysis.window.span_ms)
        ),
    )
}

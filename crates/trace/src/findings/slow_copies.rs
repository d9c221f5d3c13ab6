//! `slow-copies`.

use super::{Facts, finding, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports copies that use a small part of the chip's memory bandwidth. A copy reads and writes every byte, so its traffic
    /// is twice what it moves. Bytes come from the recording or from a work file (`--work`).
    ///
    /// ## Why it matters
    /// A large copy runs at the speed of memory. Copies far below it are small: their time is that of starting an encoder, and
    /// merging them costs nothing.
    ///
    /// ## What to do
    /// Merge small copies into one encoder or one range, or let the kernel read the source in place.
    "slow-copies",
    check
}

/// Below this part of the chip's bandwidth a copy is slow.
const SLOW: f64 = 0.3;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let transfers = &facts.analysis.transfers;
    let (gbs, part) = transfers.blit_gbs.zip(transfers.blit_of_bandwidth)?;
    if part >= SLOW || transfers.blit_share < 0.05 {
        return None;
    }
    let chip = facts.analysis.recording.chip.as_ref()?;
    with_gain(
        finding(
            &RULE,
            Severity::Medium,
            format!(
                "copies move {gbs:.2} GB/s; read and written that is {:.0} % of the {} GB/s of the {}",
                part * 100.0,
                chip.bandwidth_gbs?,
                chip.name
            ),
            "merge small copies, or read the source in place",
            "low",
        ),
        format!(
            "at the chip's bandwidth the copies would take {:.2} ms instead of {:.2} ms",
            transfers.blit_ms * part,
            transfers.blit_ms
        ),
    )
}

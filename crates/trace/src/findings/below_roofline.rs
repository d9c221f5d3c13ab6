//! `below-roofline`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity, Throughput};

rule! {
    /// ## What it does
    /// Reports an operation with a large part of the GPU's time that reaches neither the chip's memory bandwidth nor its peak
    /// of arithmetic. Its FLOPs and bytes come from a work file or from `assay run --counts` (`--work`).
    ///
    /// ## Why it matters
    /// A kernel that moves its bytes at the speed of memory, or computes at the speed of the lanes, is done. One that does
    /// neither waits for something else: latency, occupancy, uncoalesced accesses, work repeated.
    ///
    /// ## What to do
    /// Look inside the kernel: `assay profile` says what limits it, `assay predict` how long it should take.
    "below-roofline",
    check
}

/// Below this part of both peaks an operation is far from the roofline.
const FAR: f64 = 0.3;
/// Operations with less of the GPU's time are left alone.
const LARGE: f64 = 0.1;

/// The nearer of the two peaks, when both are known.
fn best(row: &Throughput) -> Option<f64> {
    row.of_compute.zip(row.of_bandwidth).map(|(a, b)| a.max(b))
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let rows = facts.analysis.throughput.iter();
    let row = rows
        .filter(|row| row.share >= LARGE && best(row).is_some_and(|part| part < FAR))
        .max_by(|a, b| a.total_ms.total_cmp(&b.total_ms))?;
    let part = best(row)?;
    with_gain(
        finding(
            &RULE,
            Severity::Medium,
            format!(
                "{} takes {:.0} % of the target's GPU time at {:.1} GFLOP/s ({:.0} % of the chip's peak) and {:.1} GB/s ({:.0} % of its bandwidth)",
                row.operation,
                row.share * 100.0,
                row.gflops.unwrap_or(0.0),
                row.of_compute.unwrap_or(0.0) * 100.0,
                row.gbs.unwrap_or(0.0),
                row.of_bandwidth.unwrap_or(0.0) * 100.0
            ),
            "look inside the kernel with assay profile and assay predict",
            "high",
        ),
        format!(
            "at most {}",
            part_of(row.total_ms * (1.0 - part), facts.analysis.window.span_ms)
        ),
    )
}

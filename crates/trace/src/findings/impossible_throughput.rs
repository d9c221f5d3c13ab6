//! `impossible-throughput`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports an operation whose FLOPs or bytes, divided by its time, exceed what the chip can do.
    ///
    /// ## Why it matters
    /// The chip did not do it: the work file counts more than one execution, its pattern matches executions of something else,
    /// or the bytes never came from memory because a cache had them. Conclusions from such a figure are wrong.
    ///
    /// ## What to do
    /// Give FLOPs and bytes of *one* execution, and of bytes those that are touched, each once. Narrow the pattern.
    "impossible-throughput",
    check
}

/// Stated figures of chips are a little off; more than this is not.
const TOLERANCE: f64 = 1.05;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let rows = facts.analysis.throughput.iter();
    let (row, part, what) = rows
        .flat_map(|row| {
            [
                (row, row.of_compute, "peak of arithmetic"),
                (row, row.of_bandwidth, "memory bandwidth"),
            ]
        })
        .filter_map(|(row, part, what)| Some((row, part?, what)))
        .find(|&(_, part, _)| part > TOLERANCE)?;
    finding(
        &RULE,
        Severity::Low,
        format!(
            "{} would run at {part:.1} times the chip's {what} by the figures of {}",
            row.operation, row.source
        ),
        "give FLOPs and bytes of one execution, each byte once, and a pattern that matches nothing else",
        "low",
    )
}

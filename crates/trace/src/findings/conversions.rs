//! `conversions`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Adds up copies of blit encoders and dispatches of kernels whose names say that they copy or convert (`copy`, `cpy`, `cast`,
    /// `contiguous`, `convert`), in a recorded program.
    ///
    /// ## Why it matters
    /// Each byte is read and written once more than the computation needs.
    ///
    /// ## What to do
    /// Keep one layout and one type through a chain, convert weights once when they are loaded, let kernels read strided inputs.
    ///
    /// ## Gain
    /// Their time; part of it is usually needed.
    "conversions",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let copies = &program.copies;
    let ms = copies.kernels_ms + program.copies_ms;
    if ms < 0.1 * program.gpu_ms {
        return None;
    }
    with_gain(
        finding(
            &RULE,
            if ms >= 0.3 * program.gpu_ms {
                Severity::High
            } else {
                Severity::Medium
            },
            format!(
                "{} copies of blit encoders and {} dispatches of copying or converting kernels",
                copies.blits, copies.kernels
            ),
            "keep one layout and type through the chain; convert weights once",
            "medium",
        ),
        format!("at most {}", part_of(ms, program.gpu_ms)),
    )
}

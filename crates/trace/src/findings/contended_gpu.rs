//! `contended-gpu`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports time in which committed work of the target waited while another process used the GPU.
    ///
    /// ## Why it matters
    /// The target's times then depend on what else is running (a browser, a video call, the window server), and two
    /// recordings cannot be compared.
    ///
    /// ## What to do
    /// Close other GPU users, stop screen recording, turn the display's refresh rate down, and record again.
    "contended-gpu",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let contended = analysis.gaps.contended_ms;
    if contended < analysis.window.span_ms * 0.05 {
        return None;
    }
    let who = analysis
        .other_processes
        .first()
        .map_or("another process", |other| &other.name);
    with_gain(
        finding(
            &RULE,
            if contended >= analysis.window.span_ms * 0.2 {
                Severity::High
            } else {
                Severity::Low
            },
            format!(
                "other processes (most of all {who}) held the GPU for {contended:.1} ms while the target's work was ready"
            ),
            "close other GPU users and record again",
            "low",
        ),
        format!("at most {}", part_of(contended, analysis.window.span_ms)),
    )
}

//! `overwritten-results`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Finds dispatches of a recorded program whose results were written again, at the same place, before anything on the GPU read that
    /// buffer and before the program waited.
    ///
    /// ## Why it matters
    /// Nobody can have used what they computed.
    ///
    /// ## What to do
    /// Leave the dispatch out, or find out why its result is not used: an output nobody needs, an initialisation that is overwritten.
    ///
    /// ## Gain
    /// The time of these dispatches.
    "overwritten-results",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let dead = &program.overwritten;
    if dead.writes < 2 || dead.ms < 0.01 * program.gpu_ms {
        return None;
    }
    let kernel = dead.kernel.as_deref().unwrap_or("a kernel");
    with_gain(
        finding(
            &RULE,
            Severity::Medium,
            format!(
                "{} results were overwritten before anything read them, most of them by {kernel}",
                dead.writes
            ),
            "leave out the dispatches that made them",
            "low",
        ),
        format!("at most {}", part_of(dead.ms, program.gpu_ms)),
    )
}

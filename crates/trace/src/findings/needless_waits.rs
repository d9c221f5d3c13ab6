//! `needless-waits`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Finds barriers between dispatches of a recorded program that share no buffer of which one of them writes, and such neighbours in
    /// serial encoders, which wait for each other always.
    ///
    /// ## Why it matters
    /// Work that could fill the GPU together runs one after the other, with a gap between.
    ///
    /// ## What to do
    /// Use `computeCommandEncoderWithDispatchType:` concurrent, with barriers only where something is read that was written before. Run
    /// `assay metal run --check` afterwards: it finds the barrier that is then missing.
    ///
    /// ## Gain
    /// The gaps at these places. What overlapping brings beside is not counted. Kernels that may write a buffer count as writing it, and
    /// a buffer counts as a whole from its offset on, so there may be more.
    "needless-waits",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let program = facts.analysis.program.as_ref()?;
    let needless = &program.needless;
    if needless.gaps_ms < 0.02 * program.gpu_ms || needless.barriers + needless.serial < 4 {
        return None;
    }
    with_gain(
        finding(
            &RULE,
            Severity::Medium,
            format!(
                "{} barriers and {} pairs of neighbours in serial encoders order dispatches that share no written buffer",
                needless.barriers, needless.serial
            ),
            "encode independent dispatches in a concurrent encoder, with barriers only where data is handed over",
            "medium",
        ),
        format!("at most {}", part_of(needless.gaps_ms, program.gpu_ms)),
    )
}

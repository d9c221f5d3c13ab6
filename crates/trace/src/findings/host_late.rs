//! `host-late`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports idle time in which nothing had been committed: the GPU waited for the host. When CPU samples were recorded
    /// (`time-profile`), it names what the process did meanwhile.
    ///
    /// ## Why it matters
    /// No kernel change can help here: the time is spent in the program, its framework or the driver, before the work
    /// reaches the GPU.
    ///
    /// ## What to do
    /// Encode ahead of the GPU on another thread, cache pipeline states and argument buffers, move data preparation out
    /// of the loop, and look at the functions listed under *while the GPU waits*.
    "host-late",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let wait = analysis.gaps.host_wait_ms;
    if wait < analysis.window.span_ms * 0.1 || analysis.gaps.host_late < 4 {
        return None;
    }
    let severity = if wait >= analysis.window.span_ms * 0.3 {
        Severity::High
    } else {
        Severity::Medium
    };
    let doing = match &analysis.cpu.while_gpu_waits {
        Some(activity) => match activity.functions.first() {
            Some(top) => format!(
                "; {:.0} % of the sampled CPU time meanwhile is in {}",
                top.share * 100.0,
                top.function
            ),
            None => "; no CPU sample falls into that time, so its threads were blocked".to_owned(),
        },
        None => "; no CPU samples (time-profile) are among the inputs to say what the host did"
            .to_owned(),
    };
    with_gain(
        finding(
            &RULE,
            severity,
            format!(
                "the GPU waited {wait:.1} ms for the host in {} gaps{doing}",
                analysis.gaps.host_late
            ),
            "encode ahead of the GPU: prepare and commit the next buffer while this one runs",
            "medium",
        ),
        format!("at most {}", part_of(wait, analysis.window.span_ms)),
    )
}

//! `waits-for-each-buffer`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Finds runs in which the host commits the next command buffer only after it was told that the one before is
    /// complete: `waitUntilCompleted`, a read-back, `.item()`, `eval()` or a print in the loop.
    ///
    /// ## Why it matters
    /// The GPU is idle while the completion notice travels to the host, while the host encodes, and while the next
    /// buffer is launched. On Apple machines such a round trip costs 100 to 300 µs whatever the kernel does.
    ///
    /// ## What to do
    /// Commit the next buffer before waiting for the last; keep two or three in flight. Read results back once per
    /// step, not per operation, and leave intermediate results on the GPU. In MLX call `mx.eval` (or `async_eval`) once
    /// per step; in candle avoid `to_scalar` and `to_vec` inside the loop.
    ///
    /// ## Gain
    /// The report gives the idle time at these points as an upper bound: with buffers queued ahead it disappears.
    "waits-for-each-buffer",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let sync = &analysis.synchronisation;
    let share = sync.strong as f64 / sync.pairs.max(1) as f64;
    if sync.pairs < 4 || share < 0.3 || sync.strong_gap_ms < analysis.window.span_ms * 0.05 {
        return None;
    }
    let severity = if sync.strong_gap_ms >= analysis.window.span_ms * 0.3 {
        Severity::High
    } else {
        Severity::Medium
    };
    let anatomy = match &analysis.gaps.anatomy {
        Some(parts) => format!(
            "; on average {:.0} µs until the notice, {:.0} µs on the host, {:.0} µs to launch",
            parts.notice_us, parts.host_us, parts.launch_us
        ),
        None => String::new(),
    };
    with_gain(
        finding(
            &RULE,
            severity,
            format!(
                "{} of {} command buffers were committed after the one before was reported complete{anatomy}",
                sync.strong, sync.pairs
            ),
            "commit the next buffer before waiting for the last one (two or three in flight); read back once per step",
            "medium",
        ),
        format!(
            "at most {}",
            part_of(sync.strong_gap_ms, analysis.window.span_ms)
        ),
    )
}

//! `few-encoders-per-buffer`.

use super::{Facts, finding, part_of, rule, with_gain};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Finds runs that submit command buffers with one or two encoders each, whose GPU work is shorter than the time
    /// it takes to launch a buffer.
    ///
    /// ## Why it matters
    /// Committing, scheduling and completing a command buffer has a fixed cost on host, driver and GPU firmware. When a
    /// buffer holds less work than that, the cost is most of the run.
    ///
    /// ## What to do
    /// Encode many operations into one command buffer and commit once per step or every few tens of operations. MLX does
    /// this by itself (`MLX_MAX_OPS_PER_BUFFER` sets how many); engines that commit per operation gained 70 to 85 % from
    /// batching (AdaptiveCpp).
    ///
    /// ## Gain
    /// Upper bound: all launch gaps. What remains depends on how many operations fit into a buffer.
    "few-encoders-per-buffer",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let analysis = facts.analysis;
    let buffers = analysis.intervals.command_buffers;
    let per_buffer = analysis.intervals.rows_target as f64 / buffers.max(1) as f64;
    let work_us = analysis.gpu.busy_ms * 1e3 / buffers.max(1) as f64;
    let launch_us = analysis.latency.median_us?;
    if buffers < 10 || per_buffer > 2.5 || work_us >= launch_us || analysis.gpu.utilization >= 0.8 {
        return None;
    }
    with_gain(
        finding(
            &RULE,
            Severity::High,
            format!(
                "{buffers} command buffers with {per_buffer:.1} encoders each: {work_us:.1} µs of GPU work per buffer, {launch_us:.1} µs from commit to start"
            ),
            "batch: encode many operations into one command buffer and commit once per step",
            "low",
        ),
        format!(
            "at most {}",
            part_of(analysis.gaps.total_ms, analysis.window.span_ms)
        ),
    )
}

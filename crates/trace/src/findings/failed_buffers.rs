//! `failed-buffers`.

use super::{Facts, finding, rule};
use crate::analysis::document::{Finding, Severity};

rule! {
    /// ## What it does
    /// Reports command buffers that ended with an error (`metal-command-buffer-error`).
    ///
    /// ## Why it matters
    /// A failed buffer did not do its work: the results of the run are wrong, and its times mean nothing. Typical
    /// causes are a GPU timeout, a page fault in a kernel, or an encoder that was never ended.
    ///
    /// ## What to do
    /// Check `MTLCommandBuffer.status` and `.error` after completion, and run once with `MTL_SHADER_VALIDATION=1`
    /// and `MTL_DEBUG_LAYER=1`.
    "failed-buffers",
    check
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let ours: rustc_hash::FxHashSet<u64> = facts.view.buffers.iter().map(|b| b.id).collect();
    let errors = &facts.view.recording.events.errors;
    let failed: Vec<_> = errors
        .iter()
        .filter(|e| ours.contains(&e.command_buffer))
        .collect();
    let first = failed.first()?;
    finding(
        &RULE,
        Severity::High,
        format!(
            "{} command buffers of the target failed, the first (0x{:x}) with code {}",
            failed.len(),
            first.command_buffer,
            first.value
        ),
        "read MTLCommandBuffer.error after completion; run once with MTL_DEBUG_LAYER=1 and MTL_SHADER_VALIDATION=1",
        "low",
    )
}

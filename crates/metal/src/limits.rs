//! What Metal refuses of a dispatch, of any encoder.

use crate::encoder::Size;
use crate::library::Pipeline;
use crate::report::wrong_use;

/// Most bytes of threadgroup memory.
const THREADGROUP_MEMORY: u64 = 32 << 10;

/// What of a dispatch is over the limits of its pipeline or of the device. A threadgroup without threads is not: nothing runs.
pub(crate) fn over_limit<'m>(
    pipeline: &Pipeline,
    memory: impl Iterator<Item = &'m u32>,
    threadgroup: Size,
) -> Option<String> {
    let [x, y, z] = threadgroup.counts().map(u64::from);
    let threads = x.saturating_mul(y).saturating_mul(z);
    let (name, most) = (&pipeline.name, pipeline.most_threads());
    let shown = format_args!("{name}: a threadgroup of {x}×{y}×{z} threads: expected 1 to {most}");
    if threads == 0 {
        wrong_use(&shown.to_string());
    }
    if threads > most {
        return Some(shown.to_string());
    }
    let own = pipeline.threadgroup_memory();
    let given: u64 = memory.map(|bytes| u64::from(*bytes)).sum();
    (own + given > THREADGROUP_MEMORY).then(|| {
        format!(
            "{name}: {own} bytes of threadgroup memory in the kernel and {given} of the encoder: expected at most {THREADGROUP_MEMORY} together"
        )
    })
}

//! Simdgroups are launched with lanes that have no thread.
//!
//! ## What it does
//! Compares the threads of the sampled threadgroups with the lanes of their simdgroups. The weight is the predicted time if
//! every lane had a thread and threadgroups were of several simdgroups.
//!
//! ## Why it matters
//! A simdgroup has 32 lanes whatever the threadgroup's size. A threadgroup of 8 threads uses a quarter of what it occupies,
//! and one of 40 threads takes two simdgroups.
//!
//! ## What to do
//! Dispatch threadgroups of a multiple of 32 threads (`threadExecutionWidth`): 64 to 256 is a good start.
//!
//! ```text
//! before: --threadgroup 8
//! after:  --threadgroup 256
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let filled = look.seen.filled;
    if filled > 0.9 || filled <= 0.0 {
        return;
    }
    let [x, y, z] = look.execution.threadgroup;
    out.push(Found {
        of_kernel: true,
        message: format!(
            "{:.1} of the 32 lanes of a simdgroup have a thread: threadgroups are {x} × {y} × {z}",
            32.0 * filled
        ),
        seen: vec![seen("lanes with a thread", 32.0 * filled, 32.0)],
        without: Some(removal::filled(look.sampled, &look.seen)),
        cure: advice("dispatch threadgroups of a multiple of 32 threads"),
        ..Found::default()
    });
}

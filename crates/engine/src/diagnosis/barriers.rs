//! Simdgroups wait at a barrier that nothing crosses.
//!
//! ## What it does
//! Follows in an executed sample which simdgroup wrote and read each word of memory between barriers. A barrier is needed if
//! one simdgroup relies on what another did before it. It reports those that mostly are not; the weight is the predicted
//! time without them.
//!
//! ## Why it matters
//! At a barrier every simdgroup waits for the slowest one, and loads of the next step cannot start.
//!
//! ## What to do
//! Drop the barrier, or replace it by `simdgroup_barrier` where only lanes of one simdgroup exchange values: the last five
//! steps of a tree reduction, arrays of which each thread has its own part. Better still, exchange with `simd_sum` and
//! `simd_shuffle`. A barrier that this launch does not need may be needed at other sizes: `assay run --check` tells.
//!
//! ```text
//! before: scratch[tid] = f(x); threadgroup_barrier(mem_flags::mem_threadgroup); y = g(scratch[tid]);
//! after:  y = g(f(x));
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;
use assay_predict::seen::SeenBarrier;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let needless = look.seen.barriers.iter();
    let needless: Vec<&SeenBarrier> = needless
        .filter(|one| one.needed <= 0.5 * one.times)
        .collect();
    if needless.is_empty() {
        return;
    }
    let sum = |value: fn(&SeenBarrier) -> f64| needless.iter().map(|one| value(one)).sum::<f64>();
    let (times, needed) = (sum(|one| one.times), sum(|one| one.needed));
    let offsets = look.heaviest(
        needless
            .iter()
            .map(|one| (one.offset, one.times - one.needed)),
    );
    out.push(Found {
        message: format!(
            "a threadgroup passes {times:.0} barriers here; something crosses {needed:.0} of them"
        ),
        seen: vec![seen("barriers passed", times, needed)],
        without: Some(removal::without_barriers(
            look.sampled,
            &look.seen,
            &offsets,
        )),
        cure: advice(
            "drop the barrier, or use simdgroup_barrier where only one simdgroup exchanges values",
        ),
        offsets,
        ..Found::default()
    });
}

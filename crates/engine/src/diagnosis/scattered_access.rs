//! Lanes of a simdgroup touch many cache lines where few would do.
//!
//! ## What it does
//! Counts the 128-byte lines that each load and store of device memory touches in an executed sample, against those that
//! would do if the lanes' bytes lay side by side. It reports accesses whose lanes are at equal distances and take more than
//! one and a half times the lines. The weight is the predicted time with these bytes side by side.
//!
//! ## Why it matters
//! A line is fetched as a whole. When every lane wants four bytes of a line of its own, 32 lines move for the bytes of one,
//! and they drive each other out of an L1 of 8 KiB before the rest of them is used.
//!
//! ## What to do
//! Let neighbouring lanes take neighbouring elements: walk a row with `i = tid; i < n; i += threads` instead of a
//! contiguous chunk per thread; let `thread_position.x` select the fastest-running index; turn tiles around in threadgroup
//! memory; keep arrays of components instead of an array of structures.
//!
//! ```text
//! before: for (uint i = tid * chunk; i < (tid + 1) * chunk; i++) sum += x[i];
//! after:  for (uint i = tid; i < n; i += threads) sum += x[i];
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;
use assay_predict::seen::SeenAccess;

/// How many times the lines that would do are too many.
const TOO_MANY: f64 = 1.5;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let scattered: Vec<&SeenAccess> = look
        .seen
        .accesses
        .iter()
        .filter(|one| one.is_device() && one.stride.is_some())
        .filter(|one| one.lines() > TOO_MANY * one.lines_needed())
        .collect();
    if scattered.is_empty() {
        return;
    }
    let extra = |one: &SeenAccess| one.executions * (one.lines() - one.lines_needed());
    let offsets = look.heaviest(scattered.iter().map(|one| (one.offset(), extra(one))));
    let worst = scattered
        .iter()
        .find(|one| Some(&one.offset()) == offsets.first());
    let Some(worst) = worst else {
        return;
    };
    let stride = worst.stride.unwrap_or(0).unsigned_abs();
    let (lines, needed) = (worst.lines(), worst.lines_needed());
    out.push(Found {
        message: format!(
            "lanes are {stride} bytes apart: {lines:.1} cache lines per access, {needed:.1} would do"
        ),
        seen: vec![
            seen("lines per access", lines, needed),
            seen("bytes from lane to lane", stride as f64, None),
        ],
        without: Some(removal::coalesced(look.sampled, &look.seen, &offsets)),
        cure: advice("let neighbouring lanes take neighbouring elements"),
        offsets,
        ..Found::default()
    });
}

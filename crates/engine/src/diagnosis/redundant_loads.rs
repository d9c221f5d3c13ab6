//! Threads of a threadgroup load the same bytes of device memory again and again.
//!
//! ## What it does
//! Compares, in an executed sample, the bytes that the lanes of a threadgroup load with the distinct bytes among them. The
//! weight is the predicted time if each byte came once and were read from threadgroup memory.
//!
//! ## Why it matters
//! L1 is 8 KiB. What many threads load from many rows does not stay there, and comes from L2 for each of them.
//!
//! ## What to do
//! Let the threadgroup load a tile together, wait at a barrier, and read it from threadgroup memory; or keep several results
//! per thread, so that each loaded value is used several times.
//!
//! ```text
//! before: for (uint k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
//! after:  tile_a[y][x] = a[…]; tile_b[y][x] = b[…]; barrier; for (uint k = 0; k < 16; k++) sum += tile_a[y][k] * tile_b[k][x];
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::execution::Kind;
use assay_predict::removal;
use assay_predict::seen::SeenAccess;

/// How often a byte must be loaded.
const OFTEN: f64 = 4.0;

/// Bytes that a threadgroup could keep.
const MOST_BYTES: f64 = (1 << 20) as f64;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let loaded = |one: &SeenAccess| one.executions * f64::from(one.access.bytes);
    let times = |one: &SeenAccess| loaded(one) / one.touched_bytes.max(1.0);
    let again = look.seen.accesses.iter();
    let again = again.filter(|one| one.is_device() && one.access.kind == Kind::Load);
    let again: Vec<&SeenAccess> = again
        .filter(|one| times(one) >= OFTEN && one.touched_bytes < MOST_BYTES)
        .filter(|one| one.touched_bytes > 512.0)
        .collect();
    if again.is_empty() {
        return;
    }
    let worth = |one: &SeenAccess| one.executions * (one.lines() + f64::from(one.access.passes));
    let offsets = look.heaviest(again.iter().map(|one| (one.offset(), worth(one))));
    let Some(worst) = again
        .iter()
        .find(|one| Some(&one.offset()) == offsets.first())
    else {
        return;
    };
    out.push(Found {
        message: format!(
            "threads of a threadgroup load each byte {:.0} times here; once would do",
            times(worst)
        ),
        seen: vec![seen(
            "loads of each byte by a threadgroup",
            times(worst),
            1.0,
        )],
        without: Some(removal::shared(look.sampled, &look.seen, &offsets)),
        cure: advice(
            "load a tile once into threadgroup memory, or compute several results per thread",
        ),
        offsets,
        ..Found::default()
    });
}

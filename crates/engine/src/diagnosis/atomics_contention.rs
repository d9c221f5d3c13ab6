//! Many lanes update few addresses with atomics.
//!
//! ## What it does
//! Counts, in an executed sample, the lanes of an access that meet at one address, and how often a threadgroup comes to each
//! address. The weight is the predicted time if a threadgroup updated each place once.
//!
//! ## Why it matters
//! Lanes at one address take turns, and so do simdgroups. A sum over a simdgroup costs a few cycles, and leaves one lane
//! with something to add.
//!
//! ## What to do
//! Add up in registers, then with `simd_sum`, then in threadgroup memory, and let one thread of the threadgroup do the
//! atomic; give histograms a copy per simdgroup.
//!
//! ```text
//! before: atomic_fetch_add_explicit(total, x[i], memory_order_relaxed);
//! after:  uint sum = simd_sum(x[i]); if (lane == 0) atomic_fetch_add_explicit(total, sum, memory_order_relaxed);
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::execution::{Kind, Space};
use assay_predict::removal;
use assay_predict::seen::SeenAccess;

/// Lanes at one address that are too many.
const CROWD: f64 = 2.0;
/// Updates of each word by a threadgroup that are too many.
const OFTEN: f64 = 16.0;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let meeting =
        |one: &SeenAccess| f64::from(one.access.passes) / one.executions_taken().max(1e-6);
    let updates = |one: &SeenAccess| match one.access.space {
        Space::Device => one.executions * f64::from(one.access.bytes) / one.touched_bytes.max(1.0),
        _ => 0.0,
    };
    let atomics = look.seen.accesses.iter();
    let atomics = atomics.filter(|one| one.access.kind == Kind::Atomic);
    let crowded: Vec<&SeenAccess> = atomics
        .filter(|one| meeting(one) >= CROWD || updates(one) >= OFTEN)
        .collect();
    if crowded.is_empty() {
        return;
    }
    let worth = |one: &SeenAccess| one.executions * f64::from(one.access.passes);
    let offsets = look.heaviest(crowded.iter().map(|one| (one.offset(), worth(one))));
    let Some(worst) = crowded
        .iter()
        .find(|one| Some(&one.offset()) == offsets.first())
    else {
        return;
    };
    out.push(Found {
        message: format!(
            "{:.0} lanes of a simdgroup meet at one address, {:.0} times in a threadgroup",
            meeting(worst).max(1.0),
            worst.executions
        ),
        seen: vec![
            seen("lanes at one address", meeting(worst), 1.0),
            seen("atomics of a threadgroup", worst.executions, 1.0),
        ],
        without: Some(removal::without_atomics(look.sampled, &look.seen, &offsets)),
        cure: advice("add up within the simdgroup and the threadgroup first, then do one atomic"),
        offsets,
        ..Found::default()
    });
}

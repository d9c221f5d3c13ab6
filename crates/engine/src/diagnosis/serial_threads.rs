//! One lane works while the others of its threadgroup wait.
//!
//! ## What it does
//! Finds branches behind which a single lane of a simdgroup is active in an executed sample. The weight is the predicted time
//! if what it does were spread over all lanes of the threadgroup.
//!
//! ## Why it matters
//! A lane alone takes as long as 32 do, and a threadgroup of 256 threads could do the same in a 256th of the time.
//!
//! ## What to do
//! Reduce with `simd_sum`, then over simdgroups; fill tables with all threads; keep `if (tid == 0)` for the one store.
//!
//! ```text
//! before: if (tid == 0) for (uint i = 0; i < threads; i++) total += partial[i];
//! after:  total = simd_sum(partial[tid]);
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;

/// Lanes up to which a branch leaves work to one.
pub(super) const FEW: f64 = 1.5;
/// Share of issue slots below which a branch is not weighed.
const LEAST_BEHIND: f64 = 0.01;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let branches = look.seen.branches.iter();
    let branches = branches.filter(|branch| branch.active <= FEW && branch.behind >= LEAST_BEHIND);
    for branch in branches.take(2) {
        let offsets = match branch.heaviest(look.sampled) {
            Some(inside) => vec![branch.offset, inside],
            None => vec![branch.offset],
        };
        out.push(Found {
            offsets,
            message: format!(
                "one lane works behind this branch, for {:.0} % of the instructions its threadgroup issues",
                100.0 * branch.behind
            ),
            seen: vec![seen("active lanes", branch.active, 32.0)],
            without: Some(removal::spread(look.sampled, &look.seen, branch)),
            cure: advice("let all threads of the threadgroup share this work"),
        ..Found::default()
    });
    }
}

//! Lanes of a simdgroup take different ways, and wait for each other.
//!
//! ## What it does
//! Follows in an executed sample which branch masked which lanes, and for how many issue slots. The weight is the predicted
//! time if the lanes behind the branch were gathered in full simdgroups. A branch behind which a single lane works is
//! `serial-threads`.
//!
//! ## Why it matters
//! A simdgroup has one program counter. Both arms of an `if` are issued when lanes differ, and a loop lasts as long as its
//! longest lane; masked lanes take slots and do nothing.
//!
//! ## What to do
//! Branch on what a simdgroup has in common (`simdgroup_index` instead of `lane % 2`), compute both values and `select`,
//! or sort work so that neighbours take about as many turns.
//!
//! ```text
//! before: if (tid & 1) y = heavy(x); else y = other(x);
//! after:  if (tid / 32 & 1) y = heavy(x); else y = other(x);
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;

/// Branches that are weighed.
const MOST: usize = 2;
/// Share of issue slots below which a branch is not weighed.
const LEAST_MASKED: f64 = 0.02;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let branches = look.seen.branches.iter();
    let branches = branches.filter(|branch| branch.active > super::serial_threads::FEW);
    for branch in branches
        .filter(|branch| branch.masked >= LEAST_MASKED)
        .take(MOST)
    {
        out.push(Found {
            offsets: vec![branch.offset],
            message: format!(
                "{:.1} of 32 lanes are active behind this branch, which is {:.0} % of the instructions issued",
                branch.active,
                100.0 * branch.behind
            ),
            seen: vec![
                seen("active lanes", branch.active, 32.0),
                seen("share of issue slots masked", branch.masked, 0.0),
            ],
            without: Some(removal::gathered(look.sampled, &look.seen, branch)),
            cure: advice("branch on what all lanes of a simdgroup have in common, or select between both values"),
        ..Found::default()
    });
    }
}

//! Lanes want different words of the same bank of threadgroup memory.
//!
//! ## What it does
//! Counts the passes over the 32 banks (a word wide each) that accesses to threadgroup memory take in an executed sample,
//! against the rows they would take if no two lanes met in a bank. The weight is the predicted time without the extra passes.
//!
//! ## Why it matters
//! A bank delivers one word per pass. A column of a 32 × 32 tile of floats lies in one bank: 32 passes instead of one.
//!
//! ## What to do
//! Pad rows by one element, or exchange the roles of the indices, so that a simdgroup's words fall into different banks.
//!
//! ```text
//! before: threadgroup float tile[32][32];
//! after:  threadgroup float tile[32][33];
//! ```

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;
use assay_predict::seen::SeenAccess;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let passes = |one: &SeenAccess| f64::from(one.access.passes);
    let hit = look.seen.accesses.iter().filter(|one| one.is_local());
    let hit: Vec<&SeenAccess> = hit.filter(|one| passes(one) > 1.2 * one.lines()).collect();
    if hit.is_empty() {
        return;
    }
    let extra = |one: &SeenAccess| one.executions * (passes(one) - one.lines());
    let offsets = look.heaviest(hit.iter().map(|one| (one.offset(), extra(one))));
    let Some(worst) = hit
        .iter()
        .find(|one| Some(&one.offset()) == offsets.first())
    else {
        return;
    };
    out.push(Found {
        message: format!(
            "lanes meet in banks of threadgroup memory: {:.1} passes per access, {:.1} would do",
            passes(worst),
            worst.lines()
        ),
        seen: vec![seen("passes per access", passes(worst), worst.lines())],
        without: Some(removal::without_conflicts(
            look.sampled,
            &look.seen,
            &offsets,
        )),
        cure: advice("pad the rows of the threadgroup array by one element"),
        offsets,
        ..Found::default()
    });
}

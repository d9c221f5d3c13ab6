//! Weighs `narrow-loads` where a launch was executed: neighbouring lanes move 8 or 16 bits each, side by side.

use super::look::{Found, Look, advice, seen};
use assay_predict::removal;
use assay_predict::seen::SeenAccess;

/// Bytes of a lane that one access could move.
const COULD: f64 = 8.0;

pub(super) fn check(look: &Look<'_>, out: &mut Vec<Found>) {
    let each =
        |one: &SeenAccess| f64::from(one.access.bytes) / f64::from(one.access.lanes).max(1e-6);
    let narrow: Vec<&SeenAccess> = look
        .seen
        .accesses
        .iter()
        .filter(|one| one.is_device() && (0.5..2.5).contains(&each(one)))
        .filter(|one| {
            one.stride
                .is_some_and(|stride| stride as f64 == each(one).round())
        })
        .collect();
    if narrow.is_empty() {
        return;
    }
    let offsets = look.heaviest(narrow.iter().map(|one| (one.offset(), one.executions)));
    let Some(worst) = narrow
        .iter()
        .find(|one| Some(&one.offset()) == offsets.first())
    else {
        return;
    };
    let bytes = each(worst);
    out.push(Found {
        message: format!(
            "each lane moves {bytes:.0} {} at a time; vectors of four would move {:.0}",
            if bytes < 1.5 { "byte" } else { "bytes" },
            4.0 * bytes
        ),
        seen: vec![seen("bytes per lane", bytes, COULD)],
        without: Some(removal::widened(look.sampled, &look.seen, &offsets, 4.0)),
        cure: advice("let each thread take four neighbours as a vector (half4, uchar4)"),
        offsets,
        ..Found::default()
    });
}

//! Bytes as differences from others of the same length: pairs of how many stay and what replaces those that follow.

use crate::error::Error;
use crate::wire::{Fields, put, put_bytes};

/// Bytes that stay between two replacements without making two of them.
const BRIDGE: usize = 2;

/// Appends what differs.
pub(crate) fn put_patch(out: &mut Vec<u8>, before: &[u8], now: &[u8]) {
    let mut at = 0;
    let mut kept = 0;
    while at < now.len() {
        if before.get(at) == now.get(at) {
            (at, kept) = (at + 1, kept + 1);
            continue;
        }
        let mut end = at + 1;
        let mut same = 0;
        while end < now.len() && same <= BRIDGE {
            same = if before.get(end) == now.get(end) {
                same + 1
            } else {
                0
            };
            end += 1;
        }
        let end = end - same;
        put(out, kept as u64);
        put_bytes(out, now.get(at..end).unwrap_or_default());
        (at, kept) = (end, 0);
    }
}

/// Reads what differs, up to the end of the fields.
pub(crate) fn patched(fields: &mut Fields<'_>, before: &[u8]) -> Result<Vec<u8>, Error> {
    let mut now = before.to_vec();
    let mut at = 0usize;
    while !fields.is_empty() {
        let kept = fields.number()?;
        let bytes = fields.bytes()?;
        let start = usize::try_from(kept)
            .ok()
            .and_then(|kept| at.checked_add(kept));
        let range = start.and_then(|start| Some(start..start.checked_add(bytes.len())?));
        let place = range.clone().and_then(|range| now.get_mut(range));
        let place = place.ok_or_else(|| fields.damaged("a difference lies outside its bytes"))?;
        place.copy_from_slice(bytes);
        at = range.map_or(at, |range| range.end);
    }
    Ok(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_restore_the_bytes(pair in proptest::collection::vec((0u8..3, 0u8..3), 0..80)) {
            let (before, now): (Vec<u8>, Vec<u8>) = pair.into_iter().unzip();
            let mut out = Vec::new();
            put_patch(&mut out, &before, &now);
            prop_assert_eq!(patched(&mut Fields::new(&out, 0), &before).unwrap(), now);
        }
    }
}

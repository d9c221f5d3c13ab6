//! A name the user gave that a file does not have, always in the same words.

use crate::Error;

/// Most names offered in place of one that does not exist.
const MOST: usize = 8;

/// `file` has no `kind` (a kernel, a function) of this name; says which it has, nearest first.
pub fn unknown<'n>(
    file: &str,
    kind: &str,
    wanted: &str,
    names: impl Iterator<Item = &'n str> + Clone,
) -> Error {
    let count = names.clone().count();
    let offered = assay_report::nearest::offered(names, wanted, MOST);
    let more = if count > offered.len() { ", …" } else { "" };
    let offered = offered.join(", ");
    let advice = match count {
        0 => format!("it has no {kind}s at all"),
        1 => format!("it has one {kind}: {offered}"),
        _ => format!("it has {count} {kind}s, nearest first: {offered}{more}"),
    };
    Error::usage(format!("{file} has no {kind} named {wanted}")).advice(advice)
}

//! The name the user may have meant.

/// The names closest to `wanted`, best first, at most `most` of them.
///
/// A name that contains `wanted`, or is contained in it, comes before names that
/// merely resemble it; names with nothing in common are left out.
///
/// ```
/// let names = ["softmax_f32", "softmax_f16", "rms_norm"];
/// assert_eq!(assay_report::nearest::nearest(names, "sofmax_f32", 1), ["softmax_f32"]);
/// assert_eq!(assay_report::nearest::nearest(names, "softmax", 5), ["softmax_f16", "softmax_f32"]);
/// assert!(assay_report::nearest::nearest(names, "conv2d", 5).is_empty());
/// ```
pub fn nearest<'n>(
    names: impl IntoIterator<Item = &'n str>,
    wanted: &str,
    most: usize,
) -> Vec<&'n str> {
    let wanted = wanted.to_lowercase();
    let mut scratch = Vec::new();
    let mut ranked: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| Some((distance(name, &wanted, &mut scratch)?, name)))
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked
        .into_iter()
        .take(most)
        .map(|(_, name)| name)
        .collect()
}

/// What to offer in place of a name that does not exist: the nearest, then others in their own order.
///
/// ```
/// let names = ["rms_norm", "softmax_f32", "relu"];
/// assert_eq!(assay_report::nearest::offered(names, "softmax", 2), ["softmax_f32", "rms_norm"]);
/// ```
pub fn offered<'n>(
    names: impl IntoIterator<Item = &'n str> + Clone,
    wanted: &str,
    most: usize,
) -> Vec<&'n str> {
    let mut offered = nearest(names.clone(), wanted, most);
    for other in names {
        if offered.len() >= most {
            break;
        }
        if !offered.contains(&other) {
            offered.push(other);
        }
    }
    offered
}

/// Names are compared up to this many bytes, so that hostile ones cost little.
const COMPARED: usize = 128;

/// How far `name` is from `wanted`; `None` when too far to suggest.
fn distance(name: &str, wanted: &str, scratch: &mut Vec<usize>) -> Option<usize> {
    let name = name.to_lowercase();
    let (a, b) = (cut(name.as_bytes()), cut(wanted.as_bytes()));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    if name.contains(wanted) || wanted.contains(name.as_str()) {
        // Below any edit distance, ordered by how much is left over.
        return Some(a.len().abs_diff(b.len()).min(COMPARED) / 8);
    }
    let left_over = a.len().abs_diff(b.len());
    // The whole name mistyped, or a part of a longer one.
    let whole = edit_distance(a, b, scratch);
    let inside = edit_distance_inside(a, b, scratch);
    let whole = (whole <= a.len().max(b.len()) / 3).then_some(whole);
    let inside = (inside <= b.len() / 4).then_some(2 * inside + left_over / 8);
    let nearer = whole.into_iter().chain(inside).min()?;
    Some(COMPARED + nearer)
}

fn cut(bytes: &[u8]) -> &[u8] {
    bytes.get(..COMPARED).unwrap_or(bytes)
}

/// Insertions, deletions and replacements that turn `a` into `b`.
fn edit_distance(a: &[u8], b: &[u8], row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=b.len());
    for (i, x) in a.iter().enumerate() {
        next_row(row, *x, b, i + 1);
    }
    row.last().copied().unwrap_or(0)
}

/// The same for the part of `a` that is nearest to `b`.
fn edit_distance_inside(a: &[u8], b: &[u8], row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=b.len());
    let mut least = b.len();
    for x in a {
        next_row(row, *x, b, 0);
        least = least.min(row.last().copied().unwrap_or(0));
    }
    least
}

/// From the distances of what came before a byte to every beginning of `b` to the distances with it; the first is to
/// nothing of `b`.
fn next_row(row: &mut [usize], x: u8, b: &[u8], first: usize) {
    let Some((start, rest)) = row.split_first_mut() else {
        return;
    };
    let mut diagonal = std::mem::replace(start, first);
    let mut left = first;
    for (cell, y) in rest.iter_mut().zip(b) {
        let replaced = diagonal + usize::from(x != *y);
        diagonal = *cell;
        left = replaced.min(left + 1).min(diagonal + 1);
        *cell = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances() {
        let distance = |a: &str, b: &str| edit_distance(a.as_bytes(), b.as_bytes(), &mut vec![]);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn a_typo_finds_its_name_among_thousands() {
        let names: Vec<String> = (0..5000).map(|n| format!("gemm_{n}_float32")).collect();
        let names = names.iter().map(String::as_str);
        assert_eq!(nearest(names, "gem_4711_float32", 1), ["gemm_4711_float32"]);
    }

    #[test]
    fn a_mistyped_part_of_a_longer_name_is_found() {
        let names = [
            "copy_bool",
            "block_softmax_float32",
            "looped_softmax_precise_float16",
        ];
        assert_eq!(
            nearest(names, "softmax_flaot32", 3),
            ["block_softmax_float32"]
        );
        let inside =
            |a: &str, b: &str| edit_distance_inside(a.as_bytes(), b.as_bytes(), &mut vec![]);
        assert_eq!(inside("a long nedle here", "needle"), 1);
        assert_eq!(inside("", "abc"), 3);
        assert_eq!(inside("abc", ""), 0);
    }

    #[test]
    fn an_empty_name_suggests_nothing() {
        assert!(nearest(["a", "b"], "", 3).is_empty());
    }
}

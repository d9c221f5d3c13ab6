//! The name the user may have meant.

/// The names closest to `wanted`, best first, at most `most` of them.
///
/// A name that contains `wanted`, or is contained in it, comes before names that
/// merely resemble it; names with nothing in common are left out.
///
/// ```
/// let names = ["softmax_f32", "softmax_f16", "rms_norm"];
/// assert_eq!(assay_container::nearest(names, "sofmax_f32", 1), ["softmax_f32"]);
/// assert_eq!(assay_container::nearest(names, "softmax", 5), ["softmax_f16", "softmax_f32"]);
/// assert!(assay_container::nearest(names, "conv2d", 5).is_empty());
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
    let edits = edit_distance(a, b, scratch);
    let allowed = a.len().max(b.len()) / 3;
    (edits <= allowed).then_some(COMPARED + edits)
}

fn cut(bytes: &[u8]) -> &[u8] {
    bytes.get(..COMPARED).unwrap_or(bytes)
}

/// Insertions, deletions and replacements that turn `a` into `b`.
fn edit_distance(a: &[u8], b: &[u8], row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=b.len());
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = replaced.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
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
    fn an_empty_name_suggests_nothing() {
        assert!(nearest(["a", "b"], "", 3).is_empty());
    }
}

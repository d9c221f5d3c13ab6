//! Differences of two texts, line by line, as patches show them.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// A line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'t> {
    /// In both.
    Both(&'t str),
    /// Only in the first.
    Before(&'t str),
    /// Only in the second.
    After(&'t str),
}

/// Lines of context around changes.
const CONTEXT: usize = 3;
/// Texts with more lines are shown as replaced whole.
const MOST_LINES: usize = 4000;

/// The lines of both texts, as many as possible matched.
///
/// ```
/// use assay_tune::diff::{Line, lines};
/// assert_eq!(lines("a\nb\n", "a\nc\n"), [Line::Both("a"), Line::Before("b"), Line::After("c")]);
/// ```
pub fn lines<'t>(before: &'t str, after: &'t str) -> Vec<Line<'t>> {
    let a: Vec<&str> = before.lines().collect();
    let b: Vec<&str> = after.lines().collect();
    if a.len().max(b.len()) > MOST_LINES {
        let gone = a.into_iter().map(Line::Before);
        return gone.chain(b.into_iter().map(Line::After)).collect();
    }
    let mut found = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
        let (gone, came) = (&a[op.old_range()], &b[op.new_range()]);
        if let DiffOp::Equal { .. } = op {
            found.extend(came.iter().copied().map(Line::Both));
            continue;
        }
        found.extend(gone.iter().copied().map(Line::Before));
        found.extend(came.iter().copied().map(Line::After));
    }
    found
}

/// A unified difference, as `patch` and `git apply` read it; empty if the texts are equal.
///
/// ```
/// let patch = assay_tune::diff::unified("k.metal", "a\nb\n", "a\nc\n");
/// assert_eq!(patch, "--- a/k.metal\n+++ b/k.metal\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
/// ```
pub fn unified(path: &str, before: &str, after: &str) -> String {
    let lines = lines(before, after);
    let changed: Vec<usize> = (0..lines.len())
        .filter(|&at| !matches!(lines[at], Line::Both(_)))
        .collect();
    let mut out = String::new();
    let mut place = 0;
    while let Some(&first) = changed.get(place) {
        let start = first.saturating_sub(CONTEXT);
        let mut last = first;
        while let Some(&next) = changed.get(place).filter(|&&at| at <= last + 2 * CONTEXT) {
            last = next;
            place += 1;
        }
        let end = (last + CONTEXT + 1).min(lines.len());
        if out.is_empty() {
            out = format!("--- a/{path}\n+++ b/{path}\n");
        }
        out += &hunk(&lines, start, end);
    }
    out
}

fn hunk(lines: &[Line<'_>], start: usize, end: usize) -> String {
    let count = |lines: &[Line<'_>], with: fn(&Line<'_>) -> bool| {
        lines.iter().filter(|line| with(line)).count()
    };
    let old: fn(&Line<'_>) -> bool = |line| !matches!(line, Line::After(_));
    let new: fn(&Line<'_>) -> bool = |line| !matches!(line, Line::Before(_));
    let (above, shown) = (&lines[..start], &lines[start..end]);
    let range = |with: fn(&Line<'_>) -> bool| {
        let (first, length) = (count(above, with), count(shown, with));
        // An empty range is named by the line before it.
        let first = if length == 0 { first } else { first + 1 };
        format!("{first},{length}")
    };
    let mut out = format!("@@ -{} +{} @@\n", range(old), range(new));
    for line in shown {
        let (mark, text) = match line {
            Line::Both(text) => (' ', text),
            Line::Before(text) => ('-', text),
            Line::After(text) => ('+', text),
        };
        out.push(mark);
        out += text;
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let before: String = (0..30).map(|n| format!("line {n}\n")).collect();
        let after = before.replace("line 2\n", "two\n").replace("line 25\n", "");
        let patch = unified("k", &before, &after);
        assert_eq!(patch.matches("@@ -").count(), 2);
        assert!(patch.contains("@@ -1,6 +1,6 @@\n"), "{patch}");
        assert!(patch.contains("@@ -23,7 +23,6 @@\n"), "{patch}");
        assert_eq!(unified("k", &before, &before), "");
        assert!(unified("k", "", "a\n").contains("@@ -0,0 +1,1 @@"));
    }
}

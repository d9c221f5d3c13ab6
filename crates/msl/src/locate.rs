//! From a place in the text clang compiled to a place in the user's file.
//!
//! Lines need no help: the text carries the preprocessor's line markers. A column is
//! traced in two steps: from the rewritten token to the preprocessed one, and from
//! there, by matching the tokens of the line against those of the user's line, to the
//! column in the file. A token that came out of a macro is placed at the macro.

use crate::diagnostic::{Diagnostic, Note, Place, Raw, source_line};
use crate::headers::OWN_PREFIX;
use crate::lexer::Tokens;
use crate::patch::Patched;
use std::path::{Path, PathBuf};

/// Everything needed to find the user's place.
#[derive(Debug)]
pub(crate) struct Locator<'a> {
    pub(crate) path: &'a Path,
    pub(crate) source: &'a str,
    /// Folders whose files may be shown, if not all may.
    pub(crate) within: Option<&'a [PathBuf]>,
    pub(crate) preprocessed: &'a str,
    pub(crate) patched: &'a Patched,
}

/// Notes in our own headers shown with an error, without their place.
const OWN_NOTES: usize = 3;

impl Locator<'_> {
    /// The text of a line that may be shown.
    pub(crate) fn line(&self, place: &Place) -> Option<String> {
        source_line(place, (self.path, self.source), self.within)
    }

    /// Turns the compiler's messages about rewritten text into diagnostics in the
    /// user's files.
    pub(crate) fn diagnostics(&self, messages: &[Raw<'_>]) -> Vec<Diagnostic> {
        self.convert(messages, |file, line, column| {
            self.place(file, line, column)
        })
    }

    /// The same for messages whose columns need no tracing.
    pub(crate) fn exact(&self, messages: &[Raw<'_>]) -> Vec<Diagnostic> {
        self.convert(messages, |file, line, column| Place {
            file: PathBuf::from(file),
            line,
            column,
        })
    }

    fn convert(
        &self,
        messages: &[Raw<'_>],
        trace: impl Fn(&str, u32, u32) -> Place,
    ) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut own_notes = 0usize;
        for raw in messages {
            let place = raw
                .place
                .filter(|(file, _, _)| !is_own(file))
                .map(|(file, line, column)| trace(file, line, column));
            let line = place.as_ref().and_then(|place| self.line(place));
            let message = readable(raw.message);
            if !raw.note {
                own_notes = 0;
                found.push(Diagnostic {
                    message,
                    place,
                    source_line: line,
                    notes: Vec::new(),
                });
                continue;
            }
            let Some(error) = found.last_mut() else {
                continue;
            };
            if error.place.is_none() && place.is_some() {
                // The error is inside our library: this is where the user called it.
                (error.place, error.source_line) = (place, line);
                continue;
            }
            if place.is_none() {
                own_notes += 1;
                let about_us = message.starts_with("in instantiation")
                    || message.starts_with("expanded from macro");
                if own_notes > OWN_NOTES || about_us {
                    continue;
                }
            }
            error.notes.push(Note {
                message,
                place,
                source_line: line,
            });
        }
        found
    }

    /// The place of an offset of the preprocessed text.
    pub(crate) fn of_preprocessed(&self, offset: usize) -> Option<Place> {
        let mut file = self.path.to_owned();
        let mut line = 1u32;
        let mut start = 0usize;
        for text in self.preprocessed.split_inclusive('\n') {
            let end = start + text.len();
            if offset < end {
                let column = self.column(&file, line, start, offset);
                return Some(Place { file, line, column });
            }
            match marker(text) {
                Some((number, name)) => (line, file) = (number, PathBuf::from(name)),
                None => line += 1,
            }
            start = end;
        }
        None
    }

    fn place(&self, file: &str, line: u32, column: u32) -> Place {
        let path = PathBuf::from(file);
        let found = self
            .rewritten_offsets(file, line)
            .into_iter()
            .find_map(|start| {
                let offset = start + (column as usize).checked_sub(1)?;
                let old = self.patched.origin(offset);
                let old_start = self
                    .preprocessed
                    .get(..old)?
                    .rfind('\n')
                    .map_or(0, |at| at + 1);
                Some(self.column(&path, line, old_start, old)).filter(|column| *column > 0)
            });
        Place {
            file: path,
            line,
            column: found.unwrap_or(0),
        }
    }

    /// Offsets in the rewritten text of every line that stands for `file:line`.
    fn rewritten_offsets(&self, file: &str, line: u32) -> Vec<usize> {
        let mut found = Vec::new();
        let mut current = (1u32, "");
        let mut start = 0usize;
        for text in self.patched.text.split_inclusive('\n') {
            match marker(text) {
                Some(next) => current = next,
                None => {
                    if current == (line, file) {
                        found.push(start);
                    }
                    current.0 += 1;
                }
            }
            start += text.len();
        }
        found
    }

    /// The column in `file:line` of the preprocessed token at `offset`, whose line
    /// starts at `start`.
    fn column(&self, file: &Path, line: u32, start: usize, offset: usize) -> u32 {
        let place = Place {
            file: file.to_owned(),
            line,
            column: 0,
        };
        let Some(original) = self.line(&place) else {
            return 0;
        };
        let end = self
            .preprocessed
            .get(offset..)
            .and_then(|t| t.find('\n'))
            .map_or(self.preprocessed.len(), |at| offset + at);
        let Some(expanded) = self.preprocessed.get(start..end) else {
            return 0;
        };
        align(expanded, offset - start, &original)
    }
}

fn is_own(file: &str) -> bool {
    file.contains(OWN_PREFIX) || file == "<stdin>" || file == "<built-in>"
}

/// The line number and file of a line marker.
pub(crate) fn marker(line: &str) -> Option<(u32, &str)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    let name = rest.strip_prefix('"')?;
    let (name, _) = name.rsplit_once('"')?;
    Some((number.parse().ok()?, name))
}

/// Longer lines are matched from their start only.
const MAX_CELLS: usize = 1 << 22;

/// The column, from 1, in `original` of what stands at `offset` of `expanded`.
fn align(expanded: &str, offset: usize, original: &str) -> u32 {
    let without_comment = original.split("//").next().unwrap_or("");
    let (new, old) = (Tokens::new(expanded), Tokens::new(without_comment));
    let target = new
        .list
        .partition_point(|token| (token.start as usize) <= offset)
        .saturating_sub(1);
    let matched = matches(&new, &old);
    let index = match matched.get(target).copied().flatten() {
        Some(index) => Some(index),
        None => macro_at(&matched, target, &old),
    };
    index
        .or(old.len().checked_sub(1))
        .and_then(|index| old.list.get(index))
        .map_or(0, |token| token.start + 1)
}

/// The macro an unmatched token came out of: the last word of `old` before the next match
/// that has no partner itself.
fn macro_at(matched: &[Option<usize>], target: usize, old: &Tokens<'_>) -> Option<usize> {
    let next = matched.get(target..)?.iter().find_map(|partner| *partner);
    (0..next.unwrap_or(old.len()))
        .rev()
        .find(|index| old.is_word(*index) && !matched.contains(&Some(*index)))
        .or(next)
}

/// For each token of `new` its partner in `old`: a longest common subsequence.
fn matches(new: &Tokens<'_>, old: &Tokens<'_>) -> Vec<Option<usize>> {
    let (rows, columns) = (new.len(), old.len());
    let mut result = vec![None; rows];
    if rows.saturating_mul(columns) > MAX_CELLS {
        let same = (0..rows.min(columns)).take_while(|&i| new.get(i) == old.get(i));
        same.for_each(|i| result[i] = Some(i));
        return result;
    }
    let width = columns + 1;
    let mut best = vec![0u32; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            best[row * width + column] = if new.get(row) == old.get(column) {
                best[(row + 1) * width + column + 1] + 1
            } else {
                best[(row + 1) * width + column].max(best[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < rows && column < columns {
        if new.get(row) == old.get(column) {
            result[row] = Some(column);
            (row, column) = (row + 1, column + 1);
        } else if best[(row + 1) * width + column] >= best[row * width + column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    result
}

/// The compiler's words with the names a Metal programmer knows.
fn readable(message: &str) -> String {
    let mut text = message
        .replace("::__metal_static_cast", "static_cast")
        .replace("__metal_static_cast", "static_cast")
        .replace("_Float16", "half")
        .replace("__bf16", "bfloat");
    for scalar in [
        "bool",
        "char",
        "unsigned char",
        "short",
        "unsigned short",
        "int",
        "unsigned int",
        "long",
        "unsigned long",
        "half",
        "bfloat",
        "float",
    ] {
        let short = scalar.replace("unsigned ", "u");
        for width in 2..=4 {
            for prefix in ["metal::vec", "vec"] {
                text = text.replace(
                    &format!("{prefix}<{scalar}, {width}>"),
                    &format!("{short}{width}"),
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_survive_collapsed_spaces_and_macros() {
        // `-E` collapses spaces and expands; the user's column is where the token was.
        let original = "  foo(MAX(a,   b),    c.xyzq);  // c.xyzq";
        let expanded = "  foo(((a) > (b) ? (a) : (b)), c.xyzq);";
        let at = |word: &str| align(expanded, expanded.find(word).unwrap_or(0), original);
        assert_eq!(at("xyzq"), 25);
        assert_eq!(at("foo"), 3);
        assert_eq!(at("?"), 7);
    }

    #[test]
    fn markers_are_read() {
        assert_eq!(marker("# 12 \"a b.metal\" 2 3\n"), Some((12, "a b.metal")));
        assert_eq!(marker("#pragma unroll\n"), None);
    }

    #[test]
    fn types_are_spelled_as_in_metal() {
        assert_eq!(
            readable("no viable conversion from 'vec<float, 4>' to '_Float16'"),
            "no viable conversion from 'float4' to 'half'"
        );
    }
}

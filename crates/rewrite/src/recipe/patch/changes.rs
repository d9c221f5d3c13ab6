//! Places of a text and what stands there afterwards.

use std::ops::Range;

/// Changes of a text that do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Vec<(Range<usize>, String)>);

impl Changes {
    /// Puts another text in the place of some bytes.
    pub(super) fn replace(&mut self, bytes: Range<usize>, with: impl Into<String>) {
        self.0.push((bytes, with.into()));
    }

    /// Puts a text before a byte.
    pub(super) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    /// Takes out the bytes of a statement, with its whole line where nothing else stands there.
    pub(super) fn remove(&mut self, text: &str, bytes: Range<usize>) {
        let start = text[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[bytes.end..]
            .find('\n')
            .map_or(text.len(), |at| bytes.end + at + 1);
        let rest = text[bytes.end..end].trim();
        let alone = text[start..bytes.start].trim().is_empty()
            && (rest.is_empty() || rest.starts_with("//"));
        match alone {
            true => self.replace(start..end, ""),
            false => self.replace(bytes, ""),
        }
    }

    /// The text with all changes; of two that overlap, the first.
    pub(super) fn applied(mut self, text: &str) -> String {
        self.0.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (bytes, with) in self.0 {
            let before = text.get(at..bytes.start);
            let Some(before) = before.filter(|_| bytes.start >= at) else {
                continue;
            };
            out += before;
            out += &with;
            at = bytes.end;
        }
        out + text.get(at..).unwrap_or_default()
    }
}

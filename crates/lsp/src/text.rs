//! A document as the editor has it.

use lsp_types::{Position, Range};

/// What the protocol counts characters of a line in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, which every editor speaks.
    #[default]
    Utf16,
}

/// The text of a document, with the offsets of its lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    content: String,
    /// Offset of the first byte of each line.
    starts: Vec<usize>,
}

/// Which lines a change replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edited {
    /// The first line that changed, from 0.
    pub first: u32,
    /// The last line that changed, as it was before.
    pub last_before: u32,
    /// The last line that changed, as it is now.
    pub last_after: u32,
}

/// A range within a line.
pub fn range(line: u32, from: u32, to: u32) -> Range {
    Range::new(Position::new(line, from), Position::new(line, to))
}

impl Text {
    /// A text.
    pub fn new(content: impl Into<String>) -> Text {
        let content = content.into();
        let breaks = content.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(breaks).collect();
        Text { content, starts }
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.content
    }

    /// The number of lines; one at least.
    pub fn line_count(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// A line from 0 without its end; empty when there is none.
    pub fn line(&self, line: u32) -> &str {
        let Some(&start) = self.starts.get(line as usize) else {
            return "";
        };
        let end = self.starts.get(line as usize + 1).copied();
        let text = self.content.get(start..end.unwrap_or(self.content.len()));
        text.unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// The offset of a position; one beyond a line is its end, as the protocol wants it.
    pub fn offset(&self, position: Position, encoding: Encoding) -> usize {
        let Some(&start) = self.starts.get(position.line as usize) else {
            return self.content.len();
        };
        let line = self.line(position.line);
        let mut units = 0;
        for (at, character) in line.char_indices() {
            if units >= position.character {
                return start + at;
            }
            units += match encoding {
                Encoding::Utf8 => character.len_utf8() as u32,
                Encoding::Utf16 => character.len_utf16() as u32,
            };
        }
        start + line.len()
    }

    /// The position of a byte of a line.
    pub fn position(&self, line: u32, byte: usize, encoding: Encoding) -> Position {
        let text = self.line(line);
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = text.get(..byte).unwrap_or("");
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.encode_utf16().count(),
        };
        Position::new(line, u32::try_from(character).unwrap_or(u32::MAX))
    }

    /// The end of a line.
    pub fn line_end(&self, line: u32, encoding: Encoding) -> Position {
        self.position(line, usize::MAX, encoding)
    }

    /// A line without blanks around it.
    pub fn line_range(&self, line: u32, encoding: Encoding) -> Range {
        let text = self.line(line);
        let start = text.len() - text.trim_start().len();
        let end = text.trim_end().len().max(start);
        Range::new(
            self.position(line, start, encoding),
            self.position(line, end, encoding),
        )
    }

    /// The word at a byte of a line, or the rest of the line.
    pub fn word_range(&self, line: u32, byte: usize, encoding: Encoding) -> Range {
        let text = self.line(line);
        let rest = text.get(byte..).unwrap_or("");
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let end = match end {
            0 => rest.chars().next().map_or(0, char::len_utf8),
            end => end,
        };
        Range::new(
            self.position(line, byte, encoding),
            self.position(line, byte.saturating_add(end), encoding),
        )
    }

    /// Replaces a range, or everything.
    pub fn edit(&mut self, range: Option<Range>, with: &str, encoding: Encoding) -> Edited {
        let last = self.line_count() - 1;
        let Some(range) = range else {
            *self = Text::new(with);
            return Edited {
                first: 0,
                last_before: last,
                last_after: self.line_count() - 1,
            };
        };
        let start = self.offset(range.start, encoding);
        let end = self.offset(range.end, encoding).max(start);
        let mut content = std::mem::take(&mut self.content);
        content.replace_range(start..end, with);
        *self = Text::new(content);
        let first = range.start.line.min(last);
        let added = u32::try_from(with.matches('\n').count()).unwrap_or(u32::MAX);
        Edited {
            first,
            last_before: range.end.line.min(last).max(first),
            last_after: first.saturating_add(added),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_those_of_the_editor_in_either_encoding() {
        for (encoding, after) in [(Encoding::Utf16, 3), (Encoding::Utf8, 5)] {
            let mut text = Text::new("a𝛑 b\r\nsecond\n");
            // Behind the two units, or four bytes, of 𝛑.
            let edited = text.edit(Some(range(0, after, after)), "X", encoding);
            assert_eq!(text.as_str(), "a𝛑X b\r\nsecond\n");
            assert_eq!((edited.first, edited.last_after), (0, 0));
            assert_eq!(text.line(0), "a𝛑X b");
        }
    }

    #[test]
    fn lines_that_come_and_go_are_told() {
        let mut text = Text::new("0\n1\n2\n3\n");
        let all = Range::new(Position::new(1, 0), Position::new(2, 1));
        let edited = text.edit(Some(all), "one", Encoding::Utf16);
        assert_eq!(text.as_str(), "0\none\n3\n");
        let expected = Edited {
            first: 1,
            last_before: 2,
            last_after: 1,
        };
        assert_eq!(edited, expected);
        text.edit(Some(range(1, 0, 0)), "a\nb\n", Encoding::Utf16);
        assert_eq!(text.as_str(), "0\na\nb\none\n3\n");
        assert_eq!(text.line_count(), 6);
    }

    #[test]
    fn positions_outside_are_the_nearest_inside() {
        let mut text = Text::new("ab\n");
        assert_eq!(text.offset(Position::new(0, 99), Encoding::Utf16), 2);
        assert_eq!(text.offset(Position::new(99, 0), Encoding::Utf16), 3);
        let wild = Range::new(Position::new(7, 7), Position::new(2, 0));
        text.edit(Some(wild), "c", Encoding::Utf16);
        assert_eq!(text.as_str(), "ab\nc");
        // In the middle of a pair of units.
        assert_eq!(
            Text::new("𝛑").offset(Position::new(0, 1), Encoding::Utf16),
            4
        );
    }

    #[test]
    fn words_and_lines_without_their_blanks() {
        let text = Text::new("  float acc_0 = x;  \n");
        assert_eq!(text.word_range(0, 8, Encoding::Utf16), range(0, 8, 13));
        assert_eq!(text.word_range(0, 14, Encoding::Utf16), range(0, 14, 15));
        assert_eq!(text.line_range(0, Encoding::Utf16), range(0, 2, 18));
        assert_eq!(text.line_range(5, Encoding::Utf16), range(5, 0, 0));
    }
}

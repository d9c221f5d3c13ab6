//! Words, numbers and marks of a source, with their places; comments and lines of the preprocessor are skipped.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// A number.
    Number,
    /// An operator, a bracket, a string.
    Mark,
}

/// A token and the bytes it takes.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) bytes: Range<usize>,
}

/// Marks of several characters, the longest first.
const MARKS: [&str; 22] = [
    "<<=", ">>=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "<=",
    ">=", "==", "!=", "&&", "||", "->", "::",
];

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut line_is_empty = true;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let end = match byte {
            b'\n' => {
                line_is_empty = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with(b"//") => {
                at = line_end(bytes, at);
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at = after(bytes, at + 2, b"*/");
                continue;
            }
            b'#' if line_is_empty => {
                at = line_end(bytes, at);
                continue;
            }
            b'"' | b'\'' => quoted(bytes, at),
            _ => run(bytes, at),
        };
        let kind = match byte {
            b'0'..=b'9' => Kind::Number,
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => Kind::Number,
            _ if is_word(byte) => Kind::Word,
            _ => Kind::Mark,
        };
        found.push(Token {
            kind,
            bytes: at..end,
        });
        line_is_empty = false;
        at = end;
    }
    found
}

/// Characters of names; those beyond ASCII count as such, so that no token ends inside one.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The end of a word, a number or a mark.
fn run(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let is_number =
        rest[0].is_ascii_digit() || rest[0] == b'.' && rest.get(1).is_some_and(u8::is_ascii_digit);
    if is_number {
        let exponent = |place: usize| {
            matches!(
                rest.get(place.wrapping_sub(1)),
                Some(b'e' | b'E' | b'p' | b'P')
            ) && matches!(rest.get(place), Some(b'+' | b'-'))
                && !(rest.starts_with(b"0x") && matches!(rest.get(place - 1), Some(b'e' | b'E')))
        };
        let mut length = 1;
        while rest
            .get(length)
            .is_some_and(|&byte| is_word(byte) || byte == b'.' || exponent(length))
        {
            length += 1;
        }
        return at + length;
    }
    if is_word(rest[0]) {
        let length = rest.iter().take_while(|&&byte| is_word(byte)).count();
        return at + length;
    }
    let mark = MARKS.iter().find(|mark| rest.starts_with(mark.as_bytes()));
    at + mark.map_or(1, |mark| mark.len())
}

/// The end of a line, with those that a backslash joins to it.
fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        if byte == b'\n' && bytes.get(at.wrapping_sub(1)) != Some(&b'\\') {
            return at;
        }
        at += 1;
    }
    at
}

fn after(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let found = rest.windows(end.len()).position(|window| window == end);
    found.map_or(bytes.len(), |place| from + place + end.len())
}

fn quoted(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'\n' => return end,
            _ if byte == bytes[at] => return end + 1,
            _ => end += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_preprocessor_lines_hold_no_tokens() {
        let text =
            "#define A 1 \\\n 2\nfor (i = 0x1p-3f; /* x */ a[i] <<= 1.5e+3f) // end\n\"a b\" é";
        let all: Vec<&str> = tokens(text)
            .into_iter()
            .map(|token| &text[token.bytes])
            .collect();
        let expected = [
            "for", "(", "i", "=", "0x1p-3f", ";", "a", "[", "i", "]", "<<=", "1.5e+3f", ")",
            "\"a b\"", "é",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn no_text_is_too_strange() {
        for text in [
            "", "\\", "'", "\"\\", "/*", "#", "0x", ".", "1e+", "[[", "é\"é",
        ] {
            for token in tokens(text) {
                assert!(text.get(token.bytes).is_some(), "{text}");
            }
        }
    }
}

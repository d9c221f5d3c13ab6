//! Tokens of preprocessed source, with their exact place in it.
//!
//! The pass works on what `clang -E` prints: no comments, no macros, no
//! continuation lines, but line markers (`# 12 "file.metal"`) and pragmas, each of
//! which is one [`Kind::Directive`] token. A token is a range of the text; nothing
//! is copied.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name or keyword.
    Word,
    /// A number with its suffix.
    Number,
    /// A string or character literal, quotes included.
    Literal,
    /// One operator or bracket.
    Punctuation,
    /// A whole line that starts with `#`.
    Directive,
}

/// A piece of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Token {
    /// Where the token lies.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A text and its tokens.
#[derive(Debug)]
pub(crate) struct Tokens<'t> {
    pub(crate) text: &'t str,
    pub(crate) list: Vec<Token>,
    /// Where the bodies of structs open, by name, once somebody asks.
    structs: OnceCell<HashMap<&'t str, usize>>,
    /// What closes what, once somebody asks.
    partners: OnceCell<Vec<u32>>,
}

/// What may stand before or behind a token is looked for so far and no further: in a hostile text every token would be looked
/// at for every other.
pub(crate) const LONGEST_SEARCH: usize = 1 << 10;

/// Operators that are longer than one character and matter as one token. `>>` is not
/// among them: it may close two template argument lists.
const LONG: [&str; 17] = [
    "...", "::", "->", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
    "&&", "||",
];

impl<'t> Tokens<'t> {
    /// Where the body of a struct opens: the first of this name.
    pub(crate) fn struct_body(&self, name: &str) -> Option<usize> {
        let index = || {
            let mut found = HashMap::new();
            for at in 0..self.len() {
                if self.is(at, "struct") && self.is(at + 2, "{") {
                    found.entry(self.get(at + 1)).or_insert(at + 2);
                }
            }
            found
        };
        self.structs.get_or_init(index).get(name).copied()
    }

    /// Cuts `text` into tokens. Anything unknown becomes a punctuation token of its
    /// own, so that nothing is lost.
    pub(crate) fn new(text: &'t str) -> Self {
        let mut list = Vec::with_capacity(text.len() / 4);
        let mut cursor = Cursor {
            text: text.as_bytes(),
            at: 0,
        };
        let mut line_start = true;
        while let Some(byte) = cursor.peek(0) {
            if byte == b'\n' {
                line_start = true;
                cursor.at += 1;
                continue;
            }
            if byte.is_ascii_whitespace() {
                cursor.at += 1;
                continue;
            }
            let start = cursor.at;
            let kind = if line_start && byte == b'#' {
                cursor.line();
                Kind::Directive
            } else {
                cursor.token(text)
            };
            line_start = false;
            list.push(Token {
                kind,
                start: u32::try_from(start).unwrap_or(u32::MAX),
                end: u32::try_from(cursor.at).unwrap_or(u32::MAX),
            });
        }
        Tokens {
            text,
            list,
            structs: OnceCell::new(),
            partners: OnceCell::new(),
        }
    }

    /// The text of token `index`, empty past the end.
    pub(crate) fn get(&self, index: usize) -> &'t str {
        self.list
            .get(index)
            .and_then(|token| self.text.get(token.range()))
            .unwrap_or("")
    }

    /// The kind of token `index`; past the end, punctuation.
    pub(crate) fn kind(&self, index: usize) -> Kind {
        self.list
            .get(index)
            .map_or(Kind::Punctuation, |token| token.kind)
    }

    pub(crate) fn is(&self, index: usize, text: &str) -> bool {
        self.kind(index) != Kind::Literal && self.get(index) == text
    }

    pub(crate) fn is_word(&self, index: usize) -> bool {
        self.kind(index) == Kind::Word
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The index after the bracket that closes the one at `open`, at most `end`.
    pub(crate) fn after_group(&self, open: usize, end: usize) -> usize {
        self.partner(open).map_or(end, |close| (close + 1).min(end))
    }

    /// What closes the bracket or `<` at `open`.
    fn partner(&self, open: usize) -> Option<usize> {
        let partners = self.partners.get_or_init(|| partners(self));
        let close = partners.get(open).copied().filter(|close| *close > 0)?;
        usize::try_from(close).ok()
    }

    /// The index of the bracket that the one at `close` closes, if it is not too far back.
    pub(crate) fn group_start(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        let first = close.saturating_sub(LONGEST_SEARCH);
        (first..=close).rev().find(|&index| {
            match self.get(index) {
                ")" | "]" | "}" if self.kind(index) == Kind::Punctuation => depth += 1,
                "(" | "[" | "{" if self.kind(index) == Kind::Punctuation => {
                    depth = depth.saturating_sub(1);
                }
                _ => {}
            }
            depth == 0
        })
    }

    /// The index after the `>` that closes the `<` at `open`, at most `end`. Parens
    /// and brackets inside hide their `>`; a `;` or `{` means it was no list at all.
    pub(crate) fn after_angles(&self, open: usize, end: usize) -> Option<usize> {
        let close = self.partner(open).filter(|_| self.is(open, "<"))?;
        (close < end).then_some(close + 1)
    }

    /// The text of a range of tokens with single spaces, without directives.
    pub(crate) fn join(&self, range: Range<usize>) -> String {
        let mut out = String::new();
        for index in range {
            if self.kind(index) == Kind::Directive {
                continue;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(self.get(index));
        }
        out
    }
}

/// For each opening bracket and `<` the token that closes it, 0 where there is none; one walk, however deep they nest.
fn partners(tokens: &Tokens<'_>) -> Vec<u32> {
    let mut partners = vec![0; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut close = |open: Option<usize>, at: usize| {
        let partner = open.and_then(|open| partners.get_mut(open));
        if let Some(partner) = partner {
            *partner = u32::try_from(at).unwrap_or(0);
        }
    };
    let is_angle = |open: Option<&usize>| open.is_some_and(|&open| tokens.get(open) == "<");
    for at in 0..tokens.len() {
        if tokens.kind(at) != Kind::Punctuation {
            continue;
        }
        let text = tokens.get(at);
        // What is open in the innermost bracket is no list when the bracket ends, or one with a body begins.
        if matches!(text, ")" | "]" | "}" | "{" | ";") {
            while is_angle(open.last()) {
                open.pop();
            }
        }
        match text {
            "<" | "(" | "[" | "{" => open.push(at),
            ">" if is_angle(open.last()) => close(open.pop(), at),
            ")" | "]" | "}" => close(open.pop(), at),
            _ => {}
        }
    }
    partners
}

struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&test) {
            self.at += 1;
        }
    }

    fn line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    fn token(&mut self, text: &str) -> Kind {
        let byte = self.peek(0).unwrap_or(b' ');
        let next_is_digit = self.peek(1).is_some_and(|next| next.is_ascii_digit());
        if is_word_start(byte) {
            self.skip_while(is_word);
            return self.prefixed_literal();
        }
        if byte.is_ascii_digit() || (byte == b'.' && next_is_digit) {
            self.number();
            return Kind::Number;
        }
        if byte == b'"' || byte == b'\'' {
            self.quoted(byte);
            return Kind::Literal;
        }
        let rest = text.get(self.at..).unwrap_or("");
        let long = LONG.iter().find(|long| rest.starts_with(**long));
        self.at += match long {
            Some(long) => long.len(),
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        Kind::Punctuation
    }

    /// A word directly followed by a quote is the prefix of a literal: `u8"…"`, `R"(…)"`.
    fn prefixed_literal(&mut self) -> Kind {
        let raw = self.text.get(self.at.saturating_sub(1)) == Some(&b'R');
        match self.peek(0) {
            Some(b'"') if raw => {
                self.raw_string();
                Kind::Literal
            }
            Some(quote @ (b'"' | b'\'')) => {
                self.quoted(quote);
                Kind::Literal
            }
            _ => Kind::Word,
        }
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                b'\n' => break,
                _ if byte == quote => break,
                _ => {}
            }
        }
        self.at = self.at.min(self.text.len());
    }

    fn raw_string(&mut self) {
        let open = self.at;
        self.skip_while(|byte| byte != b'(');
        let mut close = vec![b')'];
        close.extend_from_slice(self.text.get(open + 1..self.at).unwrap_or(&[]));
        close.push(b'"');
        while self.at < self.text.len() && !self.text[self.at..].starts_with(&close) {
            self.at += 1;
        }
        self.at = (self.at + close.len()).min(self.text.len());
    }

    /// A number as the preprocessor sees one, with digit separators and exponents.
    fn number(&mut self) {
        while let Some(byte) = self.peek(0) {
            let sign = (byte == b'+' || byte == b'-') && self.exponent_before();
            let separator =
                byte == b'\'' && self.peek(1).is_some_and(|b| b.is_ascii_alphanumeric());
            if !(is_word(byte) || byte == b'.' || sign || separator) {
                break;
            }
            self.at += 1;
        }
    }

    /// Whether the byte before is an exponent's letter, not a hexadecimal digit `e`.
    fn exponent_before(&self) -> bool {
        let before = self.text.get(self.at.wrapping_sub(1)).copied();
        match before {
            Some(b'p' | b'P') => true,
            Some(b'e' | b'E') => {
                let mut start = self.at;
                while start > 0 && (is_word(self.text[start - 1]) || self.text[start - 1] == b'.') {
                    start -= 1;
                }
                !matches!(self.text.get(start..start + 2), Some(b"0x" | b"0X"))
            }
            _ => false,
        }
    }
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn is_word(byte: u8) -> bool {
    is_word_start(byte) || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        let tokens = Tokens::new(text);
        (0..tokens.len()).map(|index| tokens.get(index)).collect()
    }

    #[test]
    fn numbers_keep_their_suffix_and_exponent() {
        assert_eq!(
            words("1.0h 2e-3f 0x1p-3 0xAe+1 1'000u .5bf"),
            [
                "1.0h", "2e-3f", "0x1p-3", "0xAe", "+", "1", "1'000u", ".5bf"
            ]
        );
    }

    #[test]
    fn a_shift_is_two_tokens_and_a_scope_one() {
        assert_eq!(
            words("a>>b::c->d"),
            ["a", ">", ">", "b", "::", "c", "->", "d"]
        );
    }

    #[test]
    fn strings_hide_brackets_and_line_starts_hide_nothing_else() {
        let text = "# 3 \"a b.metal\" 2\nf(\"){\\\"\", R\"x()\" )x\", 'c');";
        assert_eq!(
            words(text),
            [
                "# 3 \"a b.metal\" 2",
                "f",
                "(",
                "\"){\\\"\"",
                ",",
                "R\"x()\" )x\"",
                ",",
                "'c'",
                ")",
                ";"
            ]
        );
    }

    #[test]
    fn template_lists_close_where_they_should() {
        let tokens = Tokens::new("< a < b > , ( c > d ) > e");
        assert_eq!(tokens.after_angles(0, tokens.len()), Some(12));
        let tokens = Tokens::new("< b ;");
        assert_eq!(tokens.after_angles(0, tokens.len()), None);
    }
}

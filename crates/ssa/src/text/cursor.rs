//! Moving through tokens: what every part of the reader shares.

use super::lex::{ParseError, Spanned, Token, unescape};
use crate::id::Id;
use crate::ty::{AggregateId, MAX_VECTOR_LANES, Scalar, Space, Type};

pub(super) type Parsed<T> = Result<T, ParseError>;

pub(super) struct Cursor<'a, 't> {
    tokens: &'t [Spanned<'a>],
    pub(super) at: usize,
}

impl<'a, 't> Cursor<'a, 't> {
    pub(super) fn new(tokens: &'t [Spanned<'a>]) -> Self {
        Self { tokens, at: 0 }
    }

    fn spanned(&self) -> Spanned<'a> {
        let end = Spanned {
            token: Token::End,
            line: 0,
            column: 0,
        };
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .copied()
            .unwrap_or(end)
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.spanned().token
    }

    pub(super) fn peek_second(&self) -> Token<'a> {
        self.tokens
            .get(self.at + 1)
            .map_or(Token::End, |spanned| spanned.token)
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if self.at < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// An error at the token to come.
    pub(super) fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        let Spanned { line, column, .. } = self.spanned();
        Err(ParseError {
            line,
            column,
            message: message.into(),
        })
    }

    pub(super) fn wanted<T>(&self, what: &str) -> Parsed<T> {
        self.error(format!("found {}, wanted {what}", self.peek()))
    }

    pub(super) fn is_sign(&self, sign: char) -> bool {
        self.peek() == Token::Sign(sign)
    }

    pub(super) fn take_sign(&mut self, sign: char) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn sign(&mut self, sign: char) -> Parsed<()> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            self.wanted(&format!("`{sign}`"))
        }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn word(&mut self, what: &str) -> Parsed<&'a str> {
        match self.peek() {
            Token::Word(word) => {
                self.at += 1;
                Ok(word)
            }
            _ => self.wanted(what),
        }
    }

    pub(super) fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            self.wanted(&format!("`{word}`"))
        }
    }

    pub(super) fn newline(&mut self) -> Parsed<()> {
        match self.peek() {
            Token::Newline => {
                self.at += 1;
                Ok(())
            }
            Token::End => Ok(()),
            _ => self.wanted("the end of the line"),
        }
    }

    pub(super) fn text(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::Text(text) => match unescape(text) {
                Some(text) => {
                    self.at += 1;
                    Ok(text)
                }
                None => self.error("there is an unknown escape in this text"),
            },
            _ => self.wanted("a text in quotes"),
        }
    }

    /// An unsigned number, decimal or hexadecimal.
    pub(super) fn u64(&mut self) -> Parsed<u64> {
        let value = match self.peek() {
            Token::Number(text) => match text.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            },
            _ => None,
        };
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.wanted("a number"),
        }
    }

    pub(super) fn u32(&mut self) -> Parsed<u32> {
        let at = self.at;
        let value = self.u64()?;
        u32::try_from(value).or_else(|_| {
            self.at = at;
            self.error("this number is too large")
        })
    }

    /// A word made of `prefix` and a number, such as `b12`.
    pub(super) fn numbered(&mut self, prefix: &str) -> Option<u32> {
        let Token::Word(word) = self.peek() else {
            return None;
        };
        let number = word.strip_prefix(prefix)?.parse().ok()?;
        self.at += 1;
        Some(number)
    }

    /// A sign followed by a number, such as `!3` or `%0`.
    pub(super) fn signed_number(&mut self, sign: char) -> Option<u32> {
        match (self.peek(), self.peek_second()) {
            (Token::Sign(found), Token::Number(number)) if found == sign => {
                let number = number.parse().ok()?;
                self.at += 2;
                Some(number)
            }
            _ => None,
        }
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        match self.take_type() {
            Some(ty) => Ok(ty),
            None => self.wanted("a type"),
        }
    }

    pub(super) fn take_type(&mut self) -> Option<Type> {
        if let Some(index) = self.signed_number('%') {
            // Types keep 24 bits for this; more aggregates than that were never written.
            return Some(Type::aggregate(AggregateId::from_index(
                (index as usize).min(0xff_ffff),
            )));
        }
        let Token::Word(word) = self.peek() else {
            return None;
        };
        let ty = type_word(word)?;
        self.at += 1;
        Some(ty)
    }
}

fn type_word(word: &str) -> Option<Type> {
    if word == "void" {
        return Some(Type::VOID);
    }
    if let Some(scalar) = Scalar::from_name(word) {
        return Some(Type::scalar(scalar));
    }
    if let Some(space) = word.strip_prefix("ptr.") {
        return Space::from_name(space).map(Type::pointer);
    }
    if let Some(scalar) = word.strip_prefix("matrix.") {
        return Scalar::from_name(scalar).map(Type::matrix);
    }
    let rest = word.strip_prefix('v')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let lanes: u8 = rest.get(..digits)?.parse().ok()?;
    let scalar = Scalar::from_name(rest.get(digits..)?)?;
    (2..=MAX_VECTOR_LANES)
        .contains(&lanes)
        .then(|| Type::vector(scalar, lanes))
}

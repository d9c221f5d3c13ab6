//! Tokens of the text form.

use std::fmt;

/// Why a text could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    /// Letters, digits, dots and underscores, starting with a letter or underscore.
    Word(&'a str),
    /// Starts with a digit, or a minus sign and a digit.
    Number(&'a str),
    /// Between quotes, escapes still in it.
    Text(&'a str),
    /// A single sign.
    Sign(char),
    /// End of a line.
    Newline,
    /// End of the text.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(text) | Self::Number(text) => write!(f, "`{text}`"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Sign(sign) => write!(f, "`{sign}`"),
            Self::Newline => f.write_str("the end of the line"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Splits a text into tokens. `;` starts a comment that goes to the end of the line; empty lines vanish.
pub(super) fn lex(text: &str) -> Result<Vec<Spanned<'_>>, ParseError> {
    let mut tokens: Vec<Spanned<'_>> = Vec::with_capacity(text.len() / 4);
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        let before = tokens.len();
        lex_line(line, number, &mut tokens)?;
        if tokens.len() > before {
            let column = line.len() as u32 + 1;
            tokens.push(Spanned {
                token: Token::Newline,
                line: number,
                column,
            });
        }
    }
    tokens.push(Spanned {
        token: Token::End,
        line: number + 1,
        column: 1,
    });
    Ok(tokens)
}

fn lex_line<'a>(
    line: &'a str,
    number: u32,
    tokens: &mut Vec<Spanned<'a>>,
) -> Result<(), ParseError> {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let next_is_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let token = match byte {
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b';' => break,
            b'"' => {
                at = end_of_text(bytes, at).ok_or_else(|| ParseError {
                    line: number,
                    column: start as u32 + 1,
                    message: "the closing quote is missing".to_owned(),
                })?;
                Token::Text(line.get(start + 1..at - 1).unwrap_or(""))
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                at += word_length(&bytes[at..]);
                Token::Word(line.get(start..at).unwrap_or(""))
            }
            b'0'..=b'9' => {
                at += number_length(&bytes[at..]);
                Token::Number(line.get(start..at).unwrap_or(""))
            }
            b'-' if next_is_digit => {
                at += 1 + number_length(&bytes[at + 1..]);
                Token::Number(line.get(start..at).unwrap_or(""))
            }
            _ => {
                let sign = line
                    .get(at..)
                    .and_then(|rest| rest.chars().next())
                    .unwrap_or('?');
                at += sign.len_utf8();
                Token::Sign(sign)
            }
        };
        tokens.push(Spanned {
            token,
            line: number,
            column: start as u32 + 1,
        });
    }
    Ok(())
}

fn end_of_text(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn word_length(bytes: &[u8]) -> usize {
    let part_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    bytes.iter().take_while(|byte| part_of_word(byte)).count()
}

fn number_length(bytes: &[u8]) -> usize {
    let hex = bytes.starts_with(b"0x");
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let exponent_sign = matches!(byte, b'-' | b'+')
            && !hex
            && length > 0
            && matches!(bytes[length - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || exponent_sign) {
            break;
        }
        length += 1;
    }
    length
}

/// Takes the escapes out of a text between quotes.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next()? {
            'u' => {
                if chars.next()? != '{' {
                    return None;
                }
                let digits: String = chars.by_ref().take_while(|&c| c != '}').collect();
                out.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            other => out.push(other),
        }
    }
    Some(out)
}

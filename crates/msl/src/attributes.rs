//! `[[attributes]]`: found, read, and mostly removed.

use crate::lexer::{Kind, Tokens};
use std::ops::Range;

/// One attribute of a list: `buffer(0)`.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: usize,
    /// Tokens between the parentheses.
    pub(crate) arguments: Range<usize>,
}

/// One `[[…]]`.
#[derive(Clone, Debug)]
pub(crate) struct AttributeList {
    /// All tokens, brackets included.
    pub(crate) range: Range<usize>,
    pub(crate) attributes: Vec<Attribute>,
}

/// Whether an attribute list opens at `index`.
pub(crate) fn opens(tokens: &Tokens<'_>, index: usize) -> bool {
    tokens.is(index, "[")
        && tokens.is(index + 1, "[")
        && tokens.list[index].end == tokens.list[index + 1].start
}

/// The attribute list that opens at `index`.
pub(crate) fn read(tokens: &Tokens<'_>, index: usize, end: usize) -> AttributeList {
    let after = tokens.after_group(index, end);
    let mut attributes = Vec::new();
    let mut at = index + 2;
    let inner_end = after.saturating_sub(2);
    while at < inner_end {
        if !tokens.is_word(at) {
            at += 1;
            continue;
        }
        let name = at;
        let mut arguments = at + 1..at + 1;
        at += 1;
        while tokens.is(at, "::") {
            at += 2;
        }
        if tokens.is(at, "(") {
            let close = tokens.after_group(at, inner_end);
            arguments = at + 1..close.saturating_sub(1);
            at = close;
        }
        attributes.push(Attribute { name, arguments });
    }
    AttributeList {
        range: index..after,
        attributes,
    }
}

/// Every attribute list in `range`.
pub(crate) fn find(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<AttributeList> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        if opens(tokens, at) {
            let list = read(tokens, at, range.end);
            at = list.range.end.max(at + 1);
            found.push(list);
        } else {
            at += 1;
        }
    }
    found
}

/// Whether a list is clang's own and stays (`[[clang::…]]`).
pub(crate) fn is_foreign(tokens: &Tokens<'_>, list: &AttributeList) -> bool {
    list.range
        .clone()
        .any(|index| tokens.is(index, "::") && tokens.kind(index) == Kind::Punctuation)
}

/// The contents of adjacent string literals in `range`, joined as C++ joins them.
pub(crate) fn string_value(tokens: &Tokens<'_>, range: Range<usize>) -> Option<String> {
    let mut value = String::new();
    let mut any = false;
    for index in range {
        if tokens.kind(index) != Kind::Literal {
            return None;
        }
        let text = tokens.get(index);
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        any = true;
        let mut characters = inner.chars();
        while let Some(character) = characters.next() {
            if character == '\\' {
                value.extend(characters.next());
            } else {
                value.push(character);
            }
        }
    }
    any.then_some(value)
}

/// The value of a small integer expression: literals, `+ - * / % << >> | &`, parentheses.
pub(crate) fn integer_value(tokens: &Tokens<'_>, range: Range<usize>) -> Option<u32> {
    let mut expression = Expression {
        tokens,
        at: range.start,
        end: range.end,
        depth: 0,
    };
    let value = expression.binary(0)?;
    (expression.at == range.end)
        .then_some(value)
        .and_then(|value| u32::try_from(value).ok())
}

struct Expression<'a, 't> {
    tokens: &'a Tokens<'t>,
    at: usize,
    end: usize,
    depth: usize,
}

impl Expression<'_, '_> {
    fn operator(&self) -> Option<(&'static str, u8, usize)> {
        if self.at >= self.end {
            return None;
        }
        let next_same = self.tokens.get(self.at) == self.tokens.get(self.at + 1);
        match self.tokens.get(self.at) {
            "|" => Some(("|", 1, 1)),
            "&" => Some(("&", 2, 1)),
            "<" if next_same => Some(("<<", 3, 2)),
            ">" if next_same => Some((">>", 3, 2)),
            "+" => Some(("+", 4, 1)),
            "-" => Some(("-", 4, 1)),
            "*" => Some(("*", 5, 1)),
            "/" => Some(("/", 5, 1)),
            "%" => Some(("%", 5, 1)),
            _ => None,
        }
    }

    fn binary(&mut self, least: u8) -> Option<i64> {
        let mut left = self.primary()?;
        while let Some((operator, strength, width)) = self.operator() {
            if strength < least {
                break;
            }
            self.at += width;
            let right = self.binary(strength + 1)?;
            left = match operator {
                "|" => left | right,
                "&" => left & right,
                "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
        Some(left)
    }

    fn primary(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 || self.at >= self.end {
            return None;
        }
        let text = self.tokens.get(self.at);
        self.at += 1;
        let value = match text {
            "(" => {
                let value = self.binary(0)?;
                (self.tokens.is(self.at, ")") && self.at < self.end).then(|| self.at += 1)?;
                value
            }
            "-" => self.primary()?.checked_neg()?,
            "+" => self.primary()?,
            _ => {
                let digits = text
                    .trim_end_matches(['u', 'U', 'l', 'L'])
                    .replace('\'', "");
                match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
                    Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok()?,
                    None => digits.parse().ok()?,
                }
            }
        };
        self.depth -= 1;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_their_arguments() {
        let tokens = Tokens::new("uint i [[buffer(1 + 2), function_constant(has)]] = x[y[0]];");
        let lists = find(&tokens, 0..tokens.len());
        assert_eq!(lists.len(), 1);
        let names: Vec<_> = lists[0]
            .attributes
            .iter()
            .map(|a| tokens.get(a.name))
            .collect();
        assert_eq!(names, ["buffer", "function_constant"]);
        assert_eq!(
            integer_value(&tokens, lists[0].attributes[0].arguments.clone()),
            Some(3)
        );
        assert_eq!(
            integer_value(&tokens, lists[0].attributes[1].arguments.clone()),
            None
        );
    }

    #[test]
    fn strings_join_and_integers_follow_precedence() {
        let tokens = Tokens::new(r#""a_" "b\"c""#);
        assert_eq!(string_value(&tokens, 0..2).as_deref(), Some("a_b\"c"));
        let tokens = Tokens::new("2 + 3 * (1 << 2) | 0x10u - 0");
        assert_eq!(integer_value(&tokens, 0..tokens.len()), Some(14 | 16));
        let tokens = Tokens::new("1 / 0");
        assert_eq!(integer_value(&tokens, 0..tokens.len()), None);
    }
}

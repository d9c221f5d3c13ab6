//! `[[attributes]]`: found, read, and mostly removed.

use crate::lexer::{Kind, LONGEST_SEARCH, Tokens};
use std::collections::{HashMap, HashSet};
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
    let mut attributes = list.attributes.iter();
    attributes.any(|attribute| tokens.is(attribute.name + 1, "::"))
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
    integer_value_with(tokens, range, &HashMap::new())
}

/// The same, with the values of names.
pub(crate) fn integer_value_with(
    tokens: &Tokens<'_>,
    range: Range<usize>,
    names: &HashMap<&str, i64>,
) -> Option<u32> {
    signed_value(tokens, range, names).and_then(|value| u32::try_from(value).ok())
}

/// The integer constants a text declares, by name: `constant uint N = 4;`, `constexpr int M = N + 1;`, enumerators.
/// A name that is declared with two values is left out.
pub(crate) fn integer_constants<'t>(tokens: &Tokens<'t>) -> HashMap<&'t str, i64> {
    let mut known: HashMap<&str, i64> = HashMap::new();
    let mut twice: HashSet<&str> = HashSet::new();
    let mut fixed = false;
    let near = |at: usize| tokens.len().min(at + LONGEST_SEARCH);
    let mut behind_enumerators = 0;
    for at in 0..tokens.len() {
        let end = match tokens.get(at) {
            "const" | "constexpr" | "constant" => {
                fixed = true;
                continue;
            }
            ";" | "{" | "}" | ")" | "," => {
                fixed = false;
                continue;
            }
            "=" if fixed => (at..near(at)).find(|&end| tokens.is(end, ";")),
            // No enumeration stands in another.
            "enum" if at >= behind_enumerators => {
                behind_enumerators = enumerators(tokens, at, &mut known);
                continue;
            }
            _ => continue,
        };
        let (Some(end), Some(name)) = (end, at.checked_sub(1)) else {
            continue;
        };
        if let Some(value) = signed_value(tokens, at + 1..end, &known) {
            let name = tokens.get(name);
            if known.insert(name, value).is_some_and(|old| old != value) {
                twice.insert(name);
            }
        }
    }
    known.retain(|name, _| !twice.contains(name));
    known
}

/// Enters the names of the enumeration whose keyword stands at `at`; where it ends.
fn enumerators<'t>(tokens: &Tokens<'t>, at: usize, known: &mut HashMap<&'t str, i64>) -> usize {
    let open =
        (at..tokens.len().min(at + 16)).find(|&index| matches!(tokens.get(index), "{" | ";"));
    let Some(open) = open.filter(|&open| tokens.is(open, "{")) else {
        return at;
    };
    let close = tokens.after_group(open, tokens.len()).saturating_sub(1);
    let mut next = Some(0);
    let mut start = open + 1;
    while start < close {
        let end = (start..close)
            .find(|&index| tokens.is(index, ","))
            .unwrap_or(close);
        if tokens.is(start + 1, "=") {
            next = signed_value(tokens, start + 2..end, known);
        }
        if let Some(value) = next.filter(|_| tokens.is_word(start)) {
            known.insert(tokens.get(start), value);
            next = value.checked_add(1);
        }
        start = end + 1;
    }
    close
}

fn signed_value(
    tokens: &Tokens<'_>,
    range: Range<usize>,
    names: &HashMap<&str, i64>,
) -> Option<i64> {
    let mut expression = Expression {
        tokens,
        names,
        at: range.start,
        end: range.end,
        depth: 0,
    };
    let value = expression.binary(0)?;
    (expression.at == range.end).then_some(value)
}

struct Expression<'a, 't> {
    tokens: &'a Tokens<'t>,
    names: &'a HashMap<&'a str, i64>,
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
            // `uint(3)`, `static_cast<int>(E::A)`: the values are small enough for any type.
            word if crate::parameter::is_number_type(word) && self.tokens.is(self.at, "(") => {
                self.primary()?
            }
            "static_cast" => {
                self.at = self.tokens.after_angles(self.at, self.end)?;
                self.primary()?
            }
            _ if self.tokens.kind(self.at - 1) == Kind::Word => {
                let mut name = text;
                while self.tokens.is(self.at, "::") && self.at + 1 < self.end {
                    name = self.tokens.get(self.at + 1);
                    self.at += 2;
                }
                *self.names.get(name)?
            }
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
        let tokens = Tokens::new(
            "constant uint BASE = 7; enum E { A, B = 4, C }; constexpr int N = BASE + C; X(static_cast<uint>(E::C) + uint(N))",
        );
        let names = integer_constants(&tokens);
        let open = (0..tokens.len())
            .find(|&at| tokens.is(at, "X"))
            .unwrap_or(0);
        let range = open + 2..tokens.len() - 1;
        assert_eq!(integer_value_with(&tokens, range, &names), Some(17));
        let tokens = Tokens::new("1 / 0");
        assert_eq!(integer_value(&tokens, 0..tokens.len()), None);
    }
}

//! Casts of halves and brain floats.
//!
//! C++ converts neither of the two types to the other. A cast to one of them, `(bfloat)x` or `B(x)` where `B` is an alias,
//! becomes a call of a function of our headers that goes by way of `float`; so does a cast to anything that may be one of
//! them, a parameter of a template for instance. Only sources that mention `bfloat` have such casts.

use crate::lexer::{Kind, LONGEST_SEARCH, Tokens};
use crate::patch::Patch;
use std::collections::HashSet;

/// Names of types that may be `half` or `bfloat`: what templates are given, and aliases.
pub(crate) fn uncertain_types<'a>(tokens: &Tokens<'a>) -> HashSet<&'a str> {
    let introduces = |index: usize| {
        let keyword = tokens.is(index, "typename") || tokens.is(index, "class");
        let in_list = index > 0 && matches!(tokens.get(index - 1), "<" | ",");
        let ends = matches!(tokens.get(index + 2), "," | ">" | "=");
        keyword && in_list && ends && tokens.kind(index + 1) == Kind::Word
    };
    let mut names: HashSet<&str> = (0..tokens.len())
        .filter(|&index| introduces(index))
        .map(|index| tokens.get(index + 1))
        .collect();
    for index in 0..tokens.len() {
        if let Some(name) = alias(tokens, index, &names) {
            names.insert(name);
        }
    }
    names
}

/// The name of the alias a declaration introduces at `index`, if it may stand for `half` or `bfloat`.
fn alias<'a>(tokens: &Tokens<'a>, index: usize, names: &HashSet<&str>) -> Option<&'a str> {
    let near = tokens.len().min(index + LONGEST_SEARCH);
    let end = || (index..near).find(|&at| matches!(tokens.get(at), ";" | "{" | "*" | "&" | "("));
    let (name, of) = match tokens.get(index) {
        "using" if tokens.is(index + 2, "=") => (index + 1, index + 3..end()?),
        "typedef" => {
            let name = end()?.checked_sub(1)?;
            (name, index + 1..name)
        }
        _ => return None,
    };
    let last = of.end.max(name + 1);
    let uncertain = of.into_iter().any(|at| {
        let word = tokens.get(at);
        matches!(word, "half" | "bfloat" | "typename") || names.contains(word)
    });
    (uncertain && tokens.is(last, ";") && tokens.kind(name) == Kind::Word).then(|| tokens.get(name))
}

/// Rewrites casts in front of what is cast: `(T)x` to `::__metal_make<T>(x)`.
pub(crate) fn rewrite(tokens: &Tokens<'_>, names: &HashSet<&str>, patch: &mut Patch) {
    for open in 0..tokens.len() {
        if !tokens.is(open, "(") {
            continue;
        }
        let Some(close) = cast(tokens, open, names) else {
            continue;
        };
        let Some(last) = operand(tokens, close + 1, 0) else {
            continue;
        };
        let ty = tokens.join(open + 1..close);
        patch.insert_before(open, &format!("::__metal_make<{ty}>("));
        (open..=close).for_each(|index| patch.remove(index));
        patch.insert_after(last, ")");
    }
}

/// Rewrites casts that call a member type: `A<U>::type(x)` to `::__metal_make<A<U>::type>(x)`.
pub(crate) fn rewrite_members(tokens: &Tokens<'_>, names: &HashSet<&str>, patch: &mut Patch) {
    for name in 1..tokens.len() {
        let is_type = tokens.is_word(name) && names.contains(tokens.get(name));
        let is_call = tokens.is(name + 1, "(") && !tokens.is(name + 2, ")");
        if !(is_type && tokens.is(name - 1, "::") && is_call) {
            continue;
        }
        if let Some(start) =
            path_start(tokens, name).filter(|&start| is_operand(tokens, start, name + 1))
        {
            patch.insert_before(start, "::__metal_make<");
            patch.insert_after(name, ">");
        }
    }
}

/// Where a name begins that is qualified: `typename A<B>::C::name`.
fn path_start(tokens: &Tokens<'_>, name: usize) -> Option<usize> {
    let mut start = name;
    while start > 0 && tokens.is(start - 1, "::") {
        start -= 1;
        let mut end = start.checked_sub(1)?;
        if tokens.is(end, ">") {
            // The angle brackets that close here.
            let opens = |at: &usize| {
                tokens.is(*at, "<") && tokens.after_angles(*at, tokens.len()) == Some(end + 1)
            };
            let first = end.saturating_sub(MOST_ARGUMENTS);
            end = (first..end).rev().find(opens)?.checked_sub(1)?;
        }
        if !tokens.is_word(end) {
            break;
        }
        start = end;
    }
    let keyword = start > 0 && tokens.is(start - 1, "typename");
    Some(start - usize::from(keyword))
}

/// Tokens of a list of template arguments that are looked at.
const MOST_ARGUMENTS: usize = 256;

/// What an operand stands behind. Behind `{` and `>` a declaration may begin as well.
const BEFORE_OPERANDS: &[&str] = &[
    "return", "case", "else", "=", "(", ",", "[", "?", ":", "&&", "||", "!", "~", "+", "-", "*",
    "/", "%", "&", "|", "^", "<", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", "<<=", ">>=",
];

/// Returns true if the call of a type that begins at `start` is an operand, not a declaration; its parentheses open at `open`.
fn is_operand(tokens: &Tokens<'_>, start: usize, open: usize) -> bool {
    let Some(before) = start.checked_sub(1) else {
        return false;
    };
    let after = tokens.get(tokens.after_group(open, tokens.len()));
    match tokens.get(before) {
        "{" => after != ";",
        ">" => after != "{",
        word => BEFORE_OPERANDS.contains(&word),
    }
}

/// Where a cast's parentheses close, if those at `open` are a cast's to a type that may be `half` or `bfloat`.
fn cast(tokens: &Tokens<'_>, open: usize, names: &HashSet<&str>) -> Option<usize> {
    let before = open.checked_sub(1)?;
    let ends_operand = matches!(tokens.get(before), ")" | "]" | ">" | "}")
        || tokens.kind(before) == Kind::Number
        || tokens.is_word(before) && !matches!(tokens.get(before), "return" | "case" | "else");
    if ends_operand {
        return None;
    }
    let is_type = |word: &str| matches!(word, "half" | "bfloat") || names.contains(word);
    if is_type(tokens.get(open + 1)) && tokens.is(open + 2, ")") {
        return Some(open + 2);
    }
    if !tokens.is(open + 1, "typename") {
        return None;
    }
    let close = tokens.after_group(open, tokens.len()).checked_sub(1)?;
    let plain = |at: usize| tokens.is_word(at) || matches!(tokens.get(at), "::" | "<" | ">" | ",");
    (open + 1..close).all(plain).then_some(close)
}

/// Casts of casts are followed this deep.
const DEEPEST: usize = 32;

/// The last token of what a cast applies to, which starts at `at`: prefix operators, a name, number or parentheses, and
/// what stands behind it.
fn operand(tokens: &Tokens<'_>, at: usize, depth: usize) -> Option<usize> {
    let end = tokens.len();
    if depth > DEEPEST || at >= end {
        return None;
    }
    match tokens.get(at) {
        "-" | "+" | "!" | "~" | "*" | "&" | "++" | "--" => {
            return operand(tokens, at + 1, depth + 1);
        }
        _ => {}
    }
    let mut last = if tokens.is(at, "(") {
        let last = tokens.after_group(at, end).checked_sub(1)?;
        // A cast of a cast: its operand is part of this one.
        let begins = tokens.is_word(last + 1) || tokens.kind(last + 1) == Kind::Number;
        if begins || tokens.is(last + 1, "(") && is_plain(tokens, at + 1, last) {
            return operand(tokens, last + 1, depth + 1);
        }
        last
    } else if tokens.kind(at) == Kind::Number || tokens.is_word(at) || tokens.is(at, "::") {
        if matches!(
            tokens.get(at),
            "const" | "volatile" | "mutable" | "noexcept"
        ) {
            return None;
        }
        at
    } else {
        return None;
    };
    loop {
        let next = last + 1;
        last = match tokens.get(next) {
            "(" | "[" => tokens.after_group(next, end).checked_sub(1)?,
            "." | "->" | "::" => next + 1,
            "++" | "--" => next,
            "<" if tokens.is_word(last) => match tokens.after_angles(next, end) {
                Some(after) if matches!(tokens.get(after), "(" | "::") => after - 1,
                _ => return Some(last),
            },
            _ if tokens.is(last, "::") || tokens.is(last, "template") => next,
            _ => return Some(last),
        };
        if last >= end {
            return None;
        }
    }
}

/// Returns true if a range can be the name of a type.
fn is_plain(tokens: &Tokens<'_>, start: usize, end: usize) -> bool {
    let known = |word: &str| {
        matches!(
            word,
            "float"
                | "half"
                | "bfloat"
                | "int"
                | "uint"
                | "short"
                | "ushort"
                | "char"
                | "uchar"
                | "long"
                | "ulong"
        )
    };
    end == start + 1 && known(tokens.get(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(text: &str) -> String {
        let tokens = Tokens::new(text);
        let mut patch = Patch::default();
        rewrite(&tokens, &uncertain_types(&tokens), &mut patch);
        let text = patch.apply(&tokens).text;
        text.split_whitespace().collect()
    }

    fn squeezed(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn a_cast_takes_what_binds_tighter() {
        for (cast, expected) in [
            (
                "x = (bfloat)h[0] * 2;",
                "x = ::__metal_make<bfloat>(h[0]) * 2;",
            ),
            (
                "x = -(half)p->b.c(1, 2) + 1;",
                "x = -::__metal_make<half>(p->b.c(1, 2)) + 1;",
            ),
            ("return (bfloat)-x;", "return ::__metal_make<bfloat>(-x);"),
            (
                "f((half)(a + b), 1);",
                "f(::__metal_make<half>((a + b)), 1);",
            ),
            (
                "x = (bfloat)(float)h;",
                "x = ::__metal_make<bfloat>((float)h);",
            ),
            (
                "using B = bfloat; x = (B)metal::max<float>(a, b);",
                "using B = bfloat; x = ::__metal_make<B>(metal::max<float>(a, b));",
            ),
            (
                "template <typename T> void f() { y = a < (T)b; }",
                "template <typename T> void f() { y = a < ::__metal_make<T>(b); }",
            ),
            (
                "x = (typename A<int>::t)h;",
                "x = ::__metal_make<typename A<int>::t>(h);",
            ),
        ] {
            assert_eq!(pass(cast), squeezed(expected));
        }
    }

    #[test]
    fn a_member_type_is_called() {
        let pass = |text: &str| {
            let tokens = Tokens::new(text);
            let mut patch = Patch::default();
            rewrite_members(&tokens, &uncertain_types(&tokens), &mut patch);
            squeezed(&patch.apply(&tokens).text)
        };
        for (cast, expected) in [
            (
                "struct A { using type = bfloat; }; x = A::type(h) + 1;",
                "struct A { using type = bfloat; }; x = ::__metal_make<A::type>(h) + 1;",
            ),
            (
                "typedef bfloat type; return typename A<B<int>>::type(h);",
                "typedef bfloat type; return ::__metal_make<typename A<B<int>>::type>(h);",
            ),
            (
                "using type = bfloat; b[0] = b[1] * A::type(h); x = {A::type(h), 1}; y = a > A::type(h);",
                "using type = bfloat; b[0] = b[1] * ::__metal_make<A::type>(h); \
                 x = {::__metal_make<A::type>(h), 1}; y = a > ::__metal_make<A::type>(h);",
            ),
            (
                "typedef bfloat type; void f() { A::type(x); A::type (*p)(int); }",
                "typedef bfloat type; void f() { A::type(x); A::type (*p)(int); }",
            ),
        ] {
            assert_eq!(pass(cast), squeezed(expected));
        }
    }

    #[test]
    fn parentheses_that_are_no_casts_stay() {
        for text in [
            "n = sizeof(half) * 2;",
            "void f(half);",
            "half g(bfloat) const;",
            "auto l = [](half) { return 1; };",
            "using F = float (*)(half);",
            "x = f<int>(half);",
            "x = (half){1};",
        ] {
            assert_eq!(pass(text), squeezed(text));
        }
    }
}

//! Which tokens stand in templates, where clang looks at them again once it knows the types.

use crate::lexer::{LONGEST_SEARCH, Tokens};

/// For each token whether it is part of a template: a declaration behind `template <…>`, or the body of a lambda with an `auto`
/// parameter.
pub(crate) fn inside(tokens: &Tokens<'_>) -> Vec<bool> {
    let mut inside = vec![false; tokens.len()];
    let mut at = 0;
    while at < tokens.len() {
        let end = match tokens.get(at) {
            "template" if tokens.is(at + 1, "<") => end_of_declaration(tokens, at + 1),
            "[" => end_of_lambda(tokens, at),
            _ => None,
        };
        match end {
            Some(end) => {
                inside
                    .iter_mut()
                    .take(end)
                    .skip(at)
                    .for_each(|token| *token = true);
                at = end.max(at + 1);
            }
            None => at += 1,
        }
    }
    inside
}

/// Behind the declaration whose template parameters begin at `angle`.
fn end_of_declaration(tokens: &Tokens<'_>, angle: usize) -> Option<usize> {
    let end = tokens.len();
    let mut at = tokens.after_angles(angle, end)?;
    while at < end {
        match tokens.get(at) {
            ";" => return Some(at + 1),
            "(" | "[" => at = tokens.after_group(at, end),
            "{" => {
                at = tokens.after_group(at, end);
                // Initialisers of members come before the body.
                if !matches!(tokens.get(at), "," | "{") {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    Some(end)
}

/// Behind the lambda whose captures begin at `bracket`, if one of its parameters is `auto`.
fn end_of_lambda(tokens: &Tokens<'_>, bracket: usize) -> Option<usize> {
    let end = tokens.len();
    let open = tokens.after_group(bracket, end);
    if !tokens.is(open, "(") {
        return None;
    }
    let close = tokens.after_group(open, end);
    let near = |at: usize| end.min(at + LONGEST_SEARCH);
    let generic = (open..close.min(near(open))).any(|index| tokens.is(index, "auto"));
    let body =
        (close..near(close)).find(|&index| matches!(tokens.get(index), "{" | ";" | ")" | ","))?;
    (generic && tokens.is(body, "{")).then(|| tokens.after_group(body, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let tokens = Tokens::new(text);
        let inside = inside(&tokens);
        let words = (0..tokens.len()).filter(|&index| inside[index] && tokens.is_word(index));
        let words: Vec<&str> = words.map(|index| tokens.get(index)).collect();
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn declarations_behind_template_parameters_and_generic_lambdas_are_templates() {
        check(
            "int a; template <typename T> T f(T x) { return x; } int b;",
            "template typename T T f T x return x",
        );
        check(
            "template <int N> struct S { int a[N]; }; int b;",
            "template int N struct S int a N",
        );
        check(
            "template <typename T> S<T>::S(T x) : d{x}, e{x} { g(); } h();",
            "template typename T S T S T x d x e x g",
        );
        check("template void f<int>(int); int b;", "");
        check(
            "auto q = [&](auto v) { return v.xy; }; w.xy;",
            "auto v return v xy",
        );
        check("auto q = [](int v) { return v; }; a[i](auto_);", "");
        check("template <typename T", "");
    }
}

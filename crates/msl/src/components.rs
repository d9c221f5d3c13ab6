//! Components of vectors in templates: `v.x += y`, `v.yx * 2`.
//!
//! A component is a property. When clang fills in a template it cannot rebuild `property += value` if the source
//! overloads `+=` (as a complex number does): the left side becomes a call that returns the component, or the member of
//! the same name of any other class. Nor does it find the operators of what a property gives: several components that
//! are read become an argument of a function that gives them back.

use crate::lexer::{Kind, Tokens};
use crate::patch::Patch;
use crate::templates;

const ASSIGNMENTS: [&str; 8] = ["+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="];

/// Rewrites, inside templates, every compound assignment to one component and every use of several.
pub(crate) fn rewrite(tokens: &Tokens<'_>, patch: &mut Patch) {
    let inside = templates::inside(tokens);
    for (index, _) in inside.iter().enumerate().skip(2).filter(|it| *it.1) {
        if !matches!(tokens.get(index - 1), "." | "->") {
            continue;
        }
        match components(tokens.get(index)) {
            1 if assigns(tokens, index + 1) => assignment(tokens, index, patch),
            2.. if is_read(tokens, index + 1) => {
                if let Some(start) = start_of_operand(tokens, index - 2) {
                    patch.insert_before(start, "::__metal_read(");
                    patch.insert_after(index, ")");
                }
            }
            _ => {}
        }
    }
}

fn assignment(tokens: &Tokens<'_>, index: usize, patch: &mut Patch) {
    let Some(start) = start_of_operand(tokens, index - 2) else {
        return;
    };
    let letter = tokens.get(index);
    let arrow = tokens.is(index - 1, "->");
    let (open, close) = if arrow { ("(*(", "))") } else { ("(", ")") };
    patch.insert_before(start, &format!("::__metal_component_{letter}{open}"));
    patch.replace(index - 1, close);
    patch.remove(index);
}

/// How many components a word names; none if it is another word.
fn components(word: &str) -> usize {
    let of = |letters: &str| word.chars().all(|letter| letters.contains(letter));
    match word.len() {
        count @ 1..=4 if of("xyzw") || of("rgba") => count,
        _ => 0,
    }
}

/// Whether what stands before `index` is neither written nor called.
fn is_read(tokens: &Tokens<'_>, index: usize) -> bool {
    !assigns(tokens, index) && !matches!(tokens.get(index), "=" | "(" | "++" | "--")
}

fn assigns(tokens: &Tokens<'_>, index: usize) -> bool {
    let shift = |first: &str, second: &str| tokens.is(index, first) && tokens.is(index + 1, second);
    ASSIGNMENTS.contains(&tokens.get(index)) || shift("<", "<=") || shift(">", ">=")
}

/// The first token of the postfix expression that ends at `end`.
fn start_of_operand(tokens: &Tokens<'_>, end: usize) -> Option<usize> {
    let mut at = end;
    loop {
        match tokens.get(at) {
            "]" => at = open_of(tokens, at)?.checked_sub(1)?,
            ")" => {
                let open = open_of(tokens, at)?;
                let before = open.checked_sub(1)?;
                let called = tokens.is_word(before)
                    && !matches!(
                        tokens.get(before),
                        "return" | "if" | "while" | "for" | "else"
                    );
                match (called, tokens.get(before)) {
                    (true, _) | (_, "]" | ")") => at = before,
                    (_, ">") => return None,
                    _ => return Some(open),
                }
            }
            _ if tokens.kind(at) == Kind::Word => match tokens.get(at.checked_sub(1)?) {
                "." | "->" | "::" => at = at.checked_sub(2)?,
                _ => return Some(at),
            },
            _ => return None,
        }
    }
}

/// The bracket that the one at `close` closes.
fn open_of(tokens: &Tokens<'_>, close: usize) -> Option<usize> {
    let mut depth = 0usize;
    for index in (0..=close).rev() {
        match tokens.get(index) {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(index);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let head = "template <typename T> void f(T t) {";
        let text = format!("{head} {body} }} ; {body}");
        let expected = format!("{head} {expected} }} ; {body}");
        let tokens = Tokens::new(&text);
        let mut patch = Patch::default();
        rewrite(&tokens, &mut patch);
        let out = patch.apply(&tokens).text;
        let squeezed: Vec<_> = out.split_whitespace().collect();
        assert_eq!(squeezed.join(" "), expected);
    }

    #[test]
    fn the_whole_left_side_becomes_the_argument() {
        check("; v.x += 1;", "; ::__metal_component_x( v) += 1;");
        check(
            "; a.b[i + 1].y *= 2;",
            "; ::__metal_component_y( a.b[i + 1]) *= 2;",
        );
        check("; p->z -= 1;", "; ::__metal_component_z(*( p)) -= 1;");
        check("{ (*p).w |= 1; }", "{ ::__metal_component_w( (*p)) |= 1; }");
        check(
            "; a = v.xy * v->zw + v.xyz.x;",
            "; a = ::__metal_read( v.xy ) * ::__metal_read( v->zw ) + ::__metal_read( v.xyz ) .x;",
        );
        check(
            "; s.bar(1); s.rgba = 1; s.name;",
            "; s.bar(1); s.rgba = 1; s.name;",
        );
        check(
            "; f(1)[2].x <<= 1;",
            "; ::__metal_component_x( f(1)[2]) <<= 1;",
        );
        check(
            "; v.xy += 1; v.x = 2; v.x == 2;",
            "; v.xy += 1; v.x = 2; v.x == 2;",
        );
    }
}

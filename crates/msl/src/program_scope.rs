//! Variables outside functions.
//!
//! A built-in may be declared there (`uint gid [[thread_position_in_grid]];`, Metal 3.1): it becomes an external
//! constant whose symbol names the attribute, which the reader of the bitcode gives its value. Anything else must be
//! `constant`: a variable that threads could write does not exist in Metal.

use crate::attributes;
use crate::lexer::{Kind, Tokens};
use crate::outline::{Item, Outline, Shape};
use crate::patch::Patch;
use crate::rewrite::Problem;
use crate::spaces::is_space;
use crate::specification::{Treatment, treatment};

/// Start of the symbol of a built-in at program scope: `PREFIX` attribute `.` number.
const PREFIX: &str = "assay.program_input.";

/// Rewrites built-ins at program scope, and returns what cannot be a variable there.
pub(crate) fn rewrite(tokens: &Tokens<'_>, outline: &Outline, patch: &mut Patch) -> Vec<Problem> {
    let mut problems = Vec::new();
    for item in &outline.items {
        let in_class = outline
            .scopes
            .get(item.scope)
            .is_some_and(|scope| scope.class.is_some());
        if in_class || !matches!(item.shape, Shape::Statement) {
            continue;
        }
        if let Some(name) = declared_variable(tokens, item) {
            variable(tokens, item, name, patch, &mut problems);
        }
    }
    problems
}

fn variable(
    tokens: &Tokens<'_>,
    item: &Item,
    name: usize,
    patch: &mut Patch,
    problems: &mut Vec<Problem>,
) {
    let lists = attributes::find(tokens, item.head.clone());
    let mut input = false;
    for attribute in lists.iter().flat_map(|list| &list.attributes) {
        let word = tokens.get(attribute.name);
        let refusal = match treatment(word) {
            Some(Treatment::Input) => {
                input = true;
                let word = word.trim_matches('_');
                patch.insert_before(item.declaration, "extern const");
                patch.insert_after(name, &format!("__asm(\"{PREFIX}{word}.{name}\")"));
                continue;
            }
            Some(Treatment::Declaration | Treatment::Hint) => continue,
            Some(Treatment::Binding) => {
                "global bindings are not supported: make it a parameter of the kernel".to_owned()
            }
            Some(Treatment::OtherStage) => "it belongs to functions that are no kernels".to_owned(),
            Some(Treatment::Refused(feature)) => format!("{feature}: not supported"),
            None => "no such attribute is known".to_owned(),
        };
        problems.push(Problem {
            offset: offset(tokens, attribute.name),
            message: format!("attribute '{word}' of a variable outside functions: {refusal}"),
            note: None,
        });
    }
    let fixed = item.head.clone().any(|index| {
        matches!(tokens.get(index), "const" | "constexpr" | "extern") || is_space(tokens.get(index))
    });
    if !input && !fixed && problems.is_empty() {
        problems.push(Problem {
            offset: offset(tokens, name),
            message: format!(
                "variable '{}' outside functions must be declared 'constant'",
                tokens.get(name)
            ),
            note: None,
        });
    }
}

fn offset(tokens: &Tokens<'_>, index: usize) -> usize {
    tokens
        .list
        .get(index)
        .map_or(0, |token| token.start as usize)
}

/// Words that start a declaration of something that is no variable.
const NO_VARIABLE: [&str; 13] = [
    "using",
    "typedef",
    "template",
    "static_assert",
    "friend",
    "namespace",
    "struct",
    "class",
    "union",
    "enum",
    "asm",
    "__asm",
    "__extension__",
];

/// The name of the variable a statement outside functions declares. Functions, types and what is not understood give
/// nothing.
fn declared_variable(tokens: &Tokens<'_>, item: &Item) -> Option<usize> {
    let mut words: Vec<usize> = Vec::new();
    let mut at = item.declaration;
    if item.declaration != item.head.start {
        return None;
    }
    while at < item.head.end {
        if tokens.kind(at) == Kind::Directive {
            at += 1;
        } else if attributes::opens(tokens, at) {
            at = tokens.after_group(at, item.head.end);
        } else if tokens.is(at, "<") {
            at = tokens.after_angles(at, item.head.end)?;
        } else if matches!(tokens.get(at), "=" | "{" | "[" | ",") {
            break;
        } else if tokens.is(at, "alignas") {
            at = tokens.after_group(at + 1, item.head.end);
        } else if tokens.is(at, "(") || tokens.is(at, "operator") {
            return None;
        } else {
            if NO_VARIABLE.contains(&tokens.get(at)) {
                return None;
            }
            if tokens.is_word(at) {
                words.push(at);
            }
            at += 1;
        }
    }
    let &name = words.last()?;
    // A type and a name at least; a qualified name defines what was declared elsewhere.
    let qualified = tokens.is(name.wrapping_sub(1), "::");
    (words.len() >= 2 && !qualified).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(text: &str) -> (String, Vec<String>) {
        let tokens = Tokens::new(text);
        let outline = Outline::new(&tokens);
        let mut patch = Patch::default();
        let problems = rewrite(&tokens, &outline, &mut patch);
        let text = patch.apply(&tokens).text;
        let squeezed: Vec<_> = text.split_whitespace().collect();
        let problems = problems.into_iter().map(|problem| problem.message);
        (squeezed.join(" "), problems.collect())
    }

    #[test]
    fn built_ins_become_external_constants() {
        let (text, problems) = pass("uint3 gid [[thread_position_in_grid]];");
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(
            text,
            "extern const uint3 gid __asm(\"assay.program_input.thread_position_in_grid.1\") [[thread_position_in_grid]];"
        );
    }

    #[test]
    fn every_attribute_of_the_specification_is_implemented_or_refused_by_name() {
        for (name, treatment) in crate::specification::ATTRIBUTES {
            let (_, problems) = pass(&format!("constant uint x [[{name}]];"));
            let fine = matches!(
                treatment,
                Treatment::Input | Treatment::Declaration | Treatment::Hint
            );
            assert_eq!(problems.is_empty(), fine, "{name}: {problems:?}");
            assert!(
                problems.iter().all(|message| message.contains(name)),
                "{name}"
            );
        }
        let (_, problems) = pass("constant uint x [[thread_position_in_grit]];");
        assert!(
            problems[0].contains("'thread_position_in_grit'"),
            "{problems:?}"
        );
    }

    #[test]
    fn only_constants_are_variables_outside_functions() {
        let (_, problems) = pass("float table[4] = {1};");
        assert_eq!(
            problems,
            ["variable 'table' outside functions must be declared 'constant'"]
        );
        for fine in [
            "constant float a = 1;",
            "constexpr int b = 2;",
            "static const int c[] = {1};",
            "struct S; enum E { A, B };",
            "using namespace metal; typedef int T; using U = float;",
            "float f(float x); template <typename T> T g; static_assert(1);",
            "struct P { int x; union { int y; struct { short a, b; }; }; }; P::Q R::y = 1;",
            "threadgroup float t[4];",
            "extern int z;",
        ] {
            let (_, problems) = pass(fine);
            assert!(problems.is_empty(), "{fine}: {problems:?}");
        }
    }
}

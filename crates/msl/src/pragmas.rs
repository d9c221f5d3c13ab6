//! What pragmas ask of the whole file: macros inside them, and the math mode it begins with.

use crate::lexer::{Kind, Tokens};
use crate::text_rules;
use std::borrow::Cow;

/// Words that a pragma about loops may hold without meaning a macro.
const KNOWN: [&str; 10] = [
    "pragma",
    "clang",
    "loop",
    "unroll",
    "nounroll",
    "full",
    "enable",
    "disable",
    "unroll_count",
    "METAL",
];

/// How the lines begin that ask for what a pragma's macros are.
const QUESTION: &str = "__metal_pragma_";

/// The loop pragmas of a preprocessed text that mention names, each once. The preprocessor leaves pragmas alone, and
/// `#pragma unroll(MIN(a, b))` means what its macros do.
pub(crate) fn open(preprocessed: &str) -> Vec<&str> {
    let mut found: Vec<&str> = preprocessed
        .lines()
        .filter_map(|line| line.strip_prefix("#pragma "))
        .filter(|line| line.starts_with("unroll") || line.starts_with("clang loop"))
        .filter(|line| words_of(line).iter().any(|word| !KNOWN.contains(word)))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Lines to be expanded behind the source that the pragmas come from.
pub(crate) fn questions(pragmas: &[&str]) -> String {
    let lines = pragmas.iter().enumerate();
    let lines = lines.map(|(index, text)| format!("\n{QUESTION}{index} {text}"));
    format!("\n{}\n", lines.collect::<String>())
}

/// The text with its pragmas expanded, as far as that gave a plain expression.
pub(crate) fn expanded(preprocessed: &str, pragmas: &[&str], answers: &str) -> String {
    let answer = |index: usize| {
        let start = format!("{QUESTION}{index} ");
        let lines = answers.lines().rev();
        let text = lines
            .into_iter()
            .find_map(|line| line.strip_prefix(&start))?;
        let keeps = pragmas[index].split(|c: char| !c.is_alphanumeric()).next()
            == text.split(|c: char| !c.is_alphanumeric()).next();
        (keeps && text_rules::is_expression(text)).then_some(text)
    };
    let lines = preprocessed.split_inclusive('\n').map(|line| {
        let pragma = line.trim_end_matches('\n').strip_prefix("#pragma ");
        let index = pragma.and_then(|text| pragmas.binary_search(&text).ok());
        match index.and_then(answer) {
            Some(text) => Cow::Owned(format!("#pragma {text}\n")),
            None => Cow::Borrowed(line),
        }
    });
    lines.collect()
}

fn words_of(text: &str) -> Vec<&str> {
    let tokens = Tokens::new(text);
    (0..tokens.len())
        .filter(|index| tokens.kind(*index) == Kind::Word)
        .map(|index| tokens.get(index))
        .collect()
}

/// Returns true if a preprocessed text says `#pragma METAL fp math_mode(safe)` before any body of a function. Then all
/// of it is compiled so, with the operators of vectors, which are functions of the library and know no pragma of the user's. A
/// pragma further down governs operators of scalars alone.
pub(crate) fn begins_safe(preprocessed: &str) -> bool {
    let mut last = ' ';
    for line in preprocessed.lines() {
        if let Some(rest) = line.strip_prefix("#pragma METAL fp") {
            match rest.split_whitespace().collect::<String>().as_str() {
                "math_mode(safe)" => return true,
                mode if mode.starts_with("math_mode") => return false,
                _ => {}
            }
        } else if !line.starts_with('#') {
            for c in line.chars().filter(|c| !c.is_whitespace()) {
                if last == ')' && c == '{' {
                    return false;
                }
                last = c;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_before_any_code_is_the_mode_of_the_file() {
        let includes = "# 1 \"a.metal\"\nusing namespace metal;\nstruct S {\n int n; };\n";
        let safe = "#pragma METAL fp  math_mode( safe )\n";
        assert!(begins_safe(&format!(
            "{includes}{safe}kernel void k() {{}}\n"
        )));
        assert!(!begins_safe(&format!("{includes}void k() {{}}\n{safe}")));
        let fast = "#pragma METAL fp math_mode(fast)\n";
        assert!(!begins_safe(&format!("{includes}{fast}{safe}")));
    }

    #[test]
    fn only_pragmas_with_names_are_expanded_and_only_to_expressions() {
        let text = "#pragma unroll (MIN(N, 4))\n#pragma clang loop unroll(full)\n#pragma once\n#pragma unroll(BAD)\nint MAX;\n";
        let pragmas = open(text);
        assert_eq!(pragmas, ["unroll (MIN(N, 4))", "unroll(BAD)"]);
        assert!(questions(&pragmas).ends_with("\n__metal_pragma_1 unroll(BAD)\n"));
        let answers = "__metal_pragma_0 fake\n__metal_pragma_0 unroll (((3) < (4) ? (3) : 4))\n__metal_pragma_1 unroll(\"x\")\n";
        let expanded = expanded(text, &pragmas, answers);
        assert!(expanded.starts_with("#pragma unroll (((3) < (4) ? (3) : 4))\n#pragma clang loop"));
        assert!(expanded.contains("#pragma unroll(BAD)\n"));
    }
}

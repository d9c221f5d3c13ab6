//! What pragmas ask of the whole file: macros inside them, and the math mode it begins with.

use crate::lexer::{Kind, Tokens};
use std::collections::{BTreeSet, HashMap};

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

/// Names mentioned by loop pragmas of a preprocessed text.
pub(crate) fn words(preprocessed: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let pragmas = preprocessed
        .lines()
        .filter_map(|line| line.strip_prefix("#pragma "))
        .filter(|line| line.starts_with("unroll") || line.starts_with("clang loop"));
    for line in pragmas {
        found.extend(
            words_of(line)
                .into_iter()
                .filter(|word| !KNOWN.contains(word)),
        );
    }
    found
}

fn words_of(text: &str) -> Vec<&str> {
    let tokens = Tokens::new(text);
    (0..tokens.len())
        .filter(|index| tokens.kind(*index) == Kind::Word)
        .map(|index| tokens.get(index))
        .collect()
}

/// The `#define` lines (as `clang -dM` prints them) of `names` and of what they use.
pub(crate) fn definitions(defined: &str, names: BTreeSet<&str>) -> String {
    let by_name: HashMap<&str, &str> = defined
        .lines()
        .filter_map(|line| {
            let rest = line.strip_prefix("#define ")?;
            let end = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            Some((rest.get(..end)?, line))
        })
        .collect();
    let mut wanted: Vec<&str> = names.into_iter().collect();
    let mut done = BTreeSet::new();
    let mut out = String::new();
    while let Some(name) = wanted.pop() {
        let Some(line) = by_name.get(name).filter(|_| done.insert(name)) else {
            continue;
        };
        out.push_str(line);
        out.push('\n');
        let rest = line.strip_prefix("#define ").unwrap_or("");
        wanted.extend(
            words_of(rest)
                .into_iter()
                .filter(|word| !done.contains(word)),
        );
    }
    out
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
    fn only_what_pragmas_need_is_defined() {
        let text =
            "#pragma unroll (MIN(N, 4))\n#pragma clang loop unroll(full)\n#pragma once\nint MAX;\n";
        assert_eq!(words(text).into_iter().collect::<Vec<_>>(), ["MIN", "N"]);
        let defined =
            "#define MAX(a) a\n#define MIN(x, y) ((x) < (y) ? (x) : LIMIT)\n#define LIMIT 3\n";
        let mut lines: Vec<_> = Vec::new();
        let kept = definitions(defined, words(text));
        lines.extend(kept.lines());
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "#define LIMIT 3",
                "#define MIN(x, y) ((x) < (y) ? (x) : LIMIT)"
            ]
        );
    }
}

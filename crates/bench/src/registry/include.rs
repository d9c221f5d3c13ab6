//! Includes that are still in a text whose includes were put in place.
//!
//! A result is kept with the text that was compiled. A directive that the compiler would follow and the putting in place
//! did not recognise (a macro for a name, a line break or a comment inside, a path of this machine) would bring in text
//! that is neither kept nor hashed.

/// Directives that bring in another file.
const DIRECTIVES: [&str; 5] = [
    "include",
    "import",
    "include_next",
    "embed",
    "__include_macros",
];

/// The first include whose file is not part of the text: its line, from 1, and what is written after the directive.
/// System headers by their name (`<metal_stdlib>`) belong to the compiler. So do quoted names, as far as there is no
/// such file: `is_file` says so.
///
/// ```
/// use assay_bench::registry::hidden_include;
/// let none = |_: &str| false;
/// assert_eq!(hidden_include("#include <metal_stdlib>\n", none), None);
/// assert_eq!(hidden_include("#define H \"a.h\"\n#include H\n", none), Some((2, "H".to_owned())));
/// assert_eq!(hidden_include("#inc\\\nlude \"a.h\"\n", |name| name == "a.h"), Some((1, "\"a.h\"".to_owned())));
/// ```
pub fn hidden_include(text: &str, is_file: impl Fn(&str) -> bool) -> Option<(usize, String)> {
    let (text, breaks) = spliced(text);
    let mut starts: Vec<usize> = Vec::new();
    for mark in ["#", "%:", "??="] {
        starts.extend(
            text.match_indices(mark)
                .map(|(place, _)| place + mark.len()),
        );
    }
    starts.sort_unstable();
    for start in starts {
        let Some(rest) = text.get(start..).map(after_blanks) else {
            continue;
        };
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (word, rest) = rest.split_at(word.unwrap_or(rest.len()));
        if !DIRECTIVES.contains(&word) {
            continue;
        }
        let operand = after_blanks(rest).lines().next().unwrap_or_default().trim();
        if is_hidden(operand, &is_file) {
            let newlines = |text: &str| text.matches('\n').count();
            let before = text.get(..start).map_or(0, newlines);
            let joined = breaks.iter().filter(|place| **place < start).count();
            return Some((before + joined + 1, operand.to_owned()));
        }
    }
    None
}

/// The text with lines joined that end in a backslash, and where they were joined.
fn spliced(text: &str) -> (String, Vec<usize>) {
    let (mut out, mut breaks) = (String::with_capacity(text.len()), Vec::new());
    for line in text.split_inclusive('\n') {
        // Compilers allow blanks after the backslash.
        match line.trim_end().strip_suffix('\\') {
            Some(kept) if line.ends_with('\n') => {
                out.push_str(kept);
                breaks.push(out.len());
            }
            _ => out.push_str(line),
        }
    }
    (out, breaks)
}

/// What follows blanks and comments of a line.
fn after_blanks(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\u{b}', '\u{c}', '\r']);
        let comment = rest.strip_prefix("/*").and_then(|it| it.split_once("*/"));
        match comment {
            Some((_, after)) => rest = after,
            None => return rest,
        }
    }
}

fn is_hidden(operand: &str, is_file: impl Fn(&str) -> bool) -> bool {
    let between = |open, close| {
        let rest: Option<&str> = operand.strip_prefix(open);
        rest.and_then(|rest| rest.split_once(close))
            .map(|(name, _)| name)
    };
    match (between('<', '>'), between('"', '"')) {
        (Some(name), _) => name.starts_with('/') || name.contains(".."),
        (None, Some(name)) => is_file(name),
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_include_is_found() {
        let is_file = |name: &str| name == "a.h";
        let hidden = [
            "#include H",
            "#import \"a.h\"",
            "# /* a\ncomment */ include /* another */ \"a.h\"",
            "#\\\ninclude H",
            "#include \\ \n H",
            "%:include H",
            "*/ #include H",
            "#include </tmp/a.h>",
            "#include <../a.h>",
            "#embed \"a.h\"",
            "#include_next \"a.h\"",
        ];
        for text in hidden {
            assert!(hidden_include(text, is_file).is_some(), "{text}");
        }
        let known = [
            "#include <metal_stdlib>",
            "#include \"nowhere.h\"",
            "#define include 1",
            "#if included",
            "x %= y;",
        ];
        for text in known {
            assert_eq!(hidden_include(text, is_file), None, "{text}");
        }
        let told = hidden_include("a\n#define \\\n H 1\n\n#include H", is_file);
        assert_eq!(told, Some((5, "H".to_owned())));
    }
}

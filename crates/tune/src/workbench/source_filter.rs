//! What a source of a stranger may not hold.
//!
//! The executor is a sandbox, the compiler is not: it reads files, and it does what pragmas and assembly say. A source that
//! a language model wrote is therefore looked at before the compiler sees it. Allowed are the directives of conditional
//! compilation and macros, our own headers, and unrolling pragmas. What could build a forbidden word behind the filter's
//! back (token pasting, trigraphs, escapes in names, raw strings) is forbidden too.

use std::fmt;

/// Bytes of a source at most.
pub const LONGEST_SOURCE: usize = 128 << 10;

/// Something in a source that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwanted {
    /// The line, from 1.
    pub line: usize,
    /// What it is.
    pub what: String,
}

impl fmt::Display for Unwanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Directives that are allowed as they are.
const DIRECTIVES: [&str; 11] = [
    "define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif",
    "error",
];

/// Words that make the compiler look at files, obey pragmas or take assembly, and those that tell about this machine.
const WORDS: [&str; 18] = [
    "asm",
    "__asm",
    "__asm__",
    "_Pragma",
    "__pragma",
    "__has_include",
    "__has_include_next",
    "__has_embed",
    "__include_macros",
    "__FILE__",
    "__FILE_NAME__",
    "__BASE_FILE__",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    "__attribute__",
    "__attribute",
    "__declspec",
];

/// Character sequences that would hide something from this filter.
const SEQUENCES: [(&str, &str); 5] = [
    ("##", "token pasting is not allowed"),
    ("%:", "digraphs of # are not allowed"),
    ("??", "trigraphs are not allowed"),
    ("\\u", "escapes in names are not allowed"),
    ("\\U", "escapes in names are not allowed"),
];

/// The first thing in a source that is not allowed.
///
/// ```
/// use assay_tune::workbench::unwanted;
/// assert_eq!(unwanted("#include <metal_stdlib>\nkernel void k() {}\n"), None);
/// let found = unwanted("int x;\n#include \"/etc/passwd\"\n").unwrap();
/// assert_eq!(found.to_string(), "line 2: #include \"/etc/passwd\": only Metal's own headers may be included");
/// ```
pub fn unwanted(text: &str) -> Option<Unwanted> {
    let at = |line: usize, what: String| Some(Unwanted { line, what });
    if text.len() > LONGEST_SOURCE {
        return at(1, format!("{} bytes; {LONGEST_SOURCE} at most", text.len()));
    }
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if let Some(place) = text.find(control) {
        return at(line_of(text, place), "a control character".to_owned());
    }
    for (sequence, why) in SEQUENCES {
        if let Some(place) = text.find(sequence) {
            return at(line_of(text, place), why.to_owned());
        }
    }
    if let Some(place) = raw_string(text) {
        return at(
            line_of(text, place),
            "raw strings are not allowed".to_owned(),
        );
    }
    let lines = match logical_lines(text) {
        Ok(lines) => lines,
        Err(unwanted) => return Some(unwanted),
    };
    for (line, code) in lines {
        if let Some(directive) = code.trim_start().strip_prefix('#')
            && let Some(what) = refused_directive(directive)
        {
            return at(line, what);
        }
        let word = words(&code).find(|word| WORDS.contains(word));
        if let Some(word) = word {
            return at(line, format!("{word} is not allowed"));
        }
    }
    None
}

fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

/// Where `R"` or one of its prefixed forms begins.
fn raw_string(text: &str) -> Option<usize> {
    text.match_indices("R\"").map(|(place, _)| place).next()
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Why a directive, without its `#`, is not allowed.
fn refused_directive(directive: &str) -> Option<String> {
    let directive = directive.trim();
    let end = directive.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let (word, rest) = directive.split_at(end.unwrap_or(directive.len()));
    let rest = rest.trim();
    match word {
        "" if rest.is_empty() => None,
        "include" => match is_own_header(rest) {
            true => None,
            false => Some(format!(
                "#include {rest}: only Metal's own headers may be included"
            )),
        },
        "pragma" => match is_unrolling(rest) {
            true => None,
            false => Some(format!(
                "#pragma {rest}: only unrolling pragmas are allowed"
            )),
        },
        known if DIRECTIVES.contains(&known) => None,
        other => Some(format!("#{other} is not allowed")),
    }
}

fn is_own_header(operand: &str) -> bool {
    let name = operand
        .strip_prefix('<')
        .and_then(|it| it.strip_suffix('>'));
    let plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    name.is_some_and(|name| name == "simd/simd.h" || (name.starts_with("metal") && plain(name)))
}

/// `unroll`, `unroll 4`, `unroll(4)`, `clang loop unroll(full)`, `clang loop unroll_count(4)`.
fn is_unrolling(pragma: &str) -> bool {
    let words: Vec<&str> = words(pragma).collect();
    let sound = |argument: &&str| {
        matches!(*argument, "full" | "enable" | "disable")
            || argument.parse::<u32>().is_ok_and(|count| count <= 64)
    };
    match words.as_slice() {
        ["unroll"] => true,
        ["unroll", argument] => sound(argument),
        ["clang", "loop", "unroll" | "unroll_count", argument] => sound(argument),
        _ => false,
    }
}

/// Lines without comments, joined where they end in a backslash or inside a comment, with the number of their first.
fn logical_lines(text: &str) -> Result<Vec<(usize, String)>, Unwanted> {
    let mut lines = Vec::new();
    let mut in_comment = false;
    let mut spliced: Option<(usize, String)> = None;
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines().chain([""])) {
        let (first, mut joined) = spliced.take().unwrap_or((number, String::new()));
        let line = line.trim_end();
        if let Some(kept) = line.strip_suffix('\\') {
            joined.push_str(kept);
            spliced = Some((first, joined));
            continue;
        }
        joined.push_str(line);
        let code = without_comments(&joined, &mut in_comment).ok_or_else(|| separator(first))?;
        let (first, mut before) = open.take().unwrap_or((first, String::new()));
        before.push_str(&code);
        // A directive goes on behind a comment of several lines.
        if in_comment {
            open = Some((first, before));
        } else {
            lines.push((first, before));
        }
    }
    lines.extend(open);
    Ok(lines)
}

fn separator(line: usize) -> Unwanted {
    let what = "quotes after a letter or digit are not allowed".to_owned();
    Unwanted { line, what }
}

/// A line without comments; `in_comment` says if it starts inside one, and then if the next does. None if a quote may be a
/// digit separator: what is a comment behind it depends on that.
fn without_comments(line: &str, in_comment: &mut bool) -> Option<String> {
    let mut code = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            match rest.split_once("*/") {
                Some((_, after)) => {
                    *in_comment = false;
                    code.push(' ');
                    rest = after;
                }
                None => return Some(code),
            }
        }
        let mut before = ' ';
        let mut quote = None;
        let mut escaped = false;
        let mut cut = None;
        for (place, c) in rest.char_indices() {
            match (quote, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'') if before.is_alphanumeric() || before == '_' => return None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '/') if rest[place..].starts_with("//") => {
                    code.push_str(&rest[..place]);
                    return Some(code);
                }
                (None, '/') if rest[place..].starts_with("/*") => {
                    cut = Some(place);
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let Some(place) = cut else {
            code.push_str(rest);
            return Some(code);
        };
        code.push_str(&rest[..place]);
        *in_comment = true;
        rest = &rest[place + 2..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_reach_a_file_a_pragma_or_assembly_is_found() {
        for text in [
            "#include \"/etc/passwd\"",
            "#include </etc/passwd>",
            "#include <../metal_stdlib>",
            "# /* a\ncomment */ include \"a.h\"",
            "#inc\\\nlude \"a.h\"",
            "#  include H",
            "#include_next <metal_stdlib>",
            "#import <metal_stdlib>",
            "#embed \"/etc/passwd\"",
            "%:include \"a.h\"",
            "??=include \"a.h\"",
            "#line 1 \"/etc/passwd\"",
            "#if __has_include(\"/etc/passwd\")\n#endif",
            "#if __has_embed(\"/etc/passwd\")\n#endif",
            "#pragma clang diagnostic ignored \"-Weverything\"",
            "#pragma unroll 100000",
            "#pragma clang loop vectorize(enable)",
            "_Pragma(\"once\")",
            "void f() { asm(\"nop\"); }",
            "void f() { __asm__ volatile(\"nop\"); }",
            "#define A(x) as##x\nA(m)",
            "int \\u0061sm;",
            "constant char *s = R\"(x)\";",
            "constant char *s = __FILE__;",
            "int f() __attribute__((alias(\"g\")));",
            "/* /* */ asm(\"x\"); /* */",
            "'\"'; asm(\"x\"); '\"'",
            "int x; // a\\\n b\nasm(\"x\")",
            "a\u{0}b",
            "int a = 1'0; '\"'; \"/*\"; asm(\"x\"); /*\"*/",
            "L'\"'; \"/*\"; asm(\"x\"); /*\"*/",
        ] {
            assert!(unwanted(text).is_some(), "{text}");
        }
        assert!(unwanted(&"x".repeat(LONGEST_SOURCE + 1)).is_some());
    }

    #[test]
    fn kernels_as_people_write_them_pass() {
        for text in [
            "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\n#include <simd/simd.h>\n",
            "#pragma unroll\n#pragma unroll(4)\n#pragma clang loop unroll(full)\n",
            "#define TM 4 // results a thread\n#ifndef N\n#define N 3\n#endif\n",
            "// asm and #include \"x\" in a comment\n/* _Pragma\n asm */ int x;\n",
            "float a = b / c; // assay: tune TM = 1,2\n",
            "[[host_name(\"softmax\")]] kernel void k() {}",
        ] {
            assert_eq!(unwanted(text), None, "{text}");
        }
    }
}

//! A kernel of a file put in place of the one that was there: everything else stays as it is.

use std::ops::Range;

/// What starts a comment that says how a kernel is dispatched.
const LAUNCH: &str = "// assay: launch ";
/// What starts a pragma about floats, which at the head of a file would count for all kernels of it.
const PRAGMA: &str = "#pragma METAL fp ";

/// The original with the kernel of another source in place of its own, and its launch. `None` if the original does not
/// define a kernel of that name in one piece.
///
/// ```
/// use assay_tune::splice::spliced;
/// let original = "#include <metal_stdlib>\nkernel void a() { one(); }\n// Two.\nkernel void b() { two(); }\n";
/// let source = "// assay: launch b --grid 4\n#include <metal_stdlib>\n#pragma METAL fp contract(off)\n\nkernel void b(\n    ) {\n    three();\n}\n";
/// assert_eq!(
///     spliced(original, "b", source).as_deref(),
///     Some("#include <metal_stdlib>\nkernel void a() { one(); }\n// Two.\n// assay: launch b --grid 4\nkernel void b(\n    ) {\n\
///           #pragma METAL fp contract(off)\n    three();\n}\n")
/// );
/// ```
pub fn spliced(original: &str, kernel: &str, source: &str) -> Option<String> {
    let place = definition(original, kernel)?;
    let launch = launch_line(source, kernel);
    let body = alone(source, kernel)?;
    let mut text = original.get(..place.start)?.to_owned();
    let mut rest = original.get(place.end..)?.to_owned();
    match (
        launch_line(&text, kernel),
        launch_line(&rest, kernel),
        launch,
    ) {
        (Some(own), _, Some(new)) => text = text.replacen(own, new, 1),
        (None, Some(own), Some(new)) => rest = rest.replacen(own, new, 1),
        (None, None, Some(new)) => text = text + new + "\n",
        (_, _, None) => {}
    }
    Some(text + body.trim_end() + &rest)
}

/// The original with the kernel of another source before its own, as `NAME_tuned`: the host chooses.
pub fn beside_original(original: &str, kernel: &str, source: &str) -> Option<String> {
    let place = definition(original, kernel)?;
    let name = format!("{kernel}_tuned");
    let renamed =
        alone(source, kernel)?.replacen(&format!("void {kernel}("), &format!("void {name}("), 1);
    definition(&renamed, &name)?;
    let launch = launch_line(source, kernel).map(|line| line.replacen(kernel, &name, 1) + "\n");
    let (before, behind) = (original.get(..place.start)?, original.get(place.start..)?);
    // A comment about the original stays with it.
    let lines = before.lines().rev();
    let about: usize = lines
        .take_while(|line| line.trim_start().starts_with("//"))
        .map(|line| line.len() + 1)
        .sum();
    let cut = before.len().saturating_sub(about);
    let (head, about) = (before.get(..cut)?, before.get(cut..)?);
    let launch = launch.unwrap_or_default();
    Some(format!(
        "{head}{launch}{}\n\n{about}{behind}",
        renamed.trim_end()
    ))
}

/// The line that says how a kernel is dispatched.
fn launch_line<'t>(text: &'t str, kernel: &str) -> Option<&'t str> {
    let mut lines = text.lines().map(str::trim_start);
    lines.find(|line| {
        let words = line.strip_prefix(LAUNCH);
        words.and_then(|words| words.split_whitespace().next()) == Some(kernel)
    })
}

/// What a source holds besides what every source starts with; pragmas about floats stand in the kernel.
fn alone(source: &str, kernel: &str) -> Option<String> {
    let starts = |line: &&str| {
        let line = line.trim();
        line.is_empty()
            || line.starts_with("//")
            || line.starts_with("#include")
            || line.starts_with("using namespace metal")
    };
    let mut pragmas = String::new();
    let mut body = String::new();
    let mut head = true;
    for line in source.split_inclusive('\n') {
        if line.starts_with(PRAGMA) && head {
            pragmas += line;
        } else if !(head && starts(&line)) {
            head = false;
            body += line;
        }
    }
    if pragmas.is_empty() {
        return Some(body);
    }
    let definition = definition(&body, kernel)?;
    let open = tokens(&body)
        .into_iter()
        .find(|token| token.start > definition.start && body.get(token.clone()) == Some("{"))?;
    let behind = open.end + usize::from(body.get(open.end..)?.starts_with('\n'));
    let newline = if behind == open.end { "\n" } else { "" };
    body.insert_str(behind, &format!("{newline}{pragmas}"));
    Some(body)
}

/// The bytes of a kernel's definition, or of the instantiation that has its name.
fn definition(text: &str, kernel: &str) -> Option<Range<usize>> {
    let tokens = tokens(text);
    let word = |at: usize| {
        tokens
            .get(at)
            .and_then(|range| text.get(range.clone()))
            .unwrap_or("")
    };
    let quoted = format!("\"{kernel}\"");
    let (mut start, mut at) = (0, 0);
    while at < tokens.len() {
        match word(at) {
            ";" | "}" => start = at + 1,
            token if token.starts_with('#') => start = at + 1,
            // `namespace a {` and `extern "C" {` are entered.
            "{" if !(start..at).any(|it| word(it) == "(") => start = at + 1,
            "{" => {
                at = closing(&tokens, text, at)?;
                start = at;
                continue;
            }
            "(" => {
                at = closing(&tokens, text, at)?;
                continue;
            }
            "kernel" => {
                let end = (at..tokens.len()).find(|&it| matches!(word(it), "{" | ";"))?;
                let named = (at..end).any(|it| word(it) == kernel && word(it + 1) == "(");
                let host = (start..end).any(|it| word(it) == "host_name" && word(it + 2) == quoted);
                let is_template = word(start) == "template";
                if host
                    || (named && !is_template && !(start..end).any(|it| word(it) == "host_name"))
                {
                    let last = match word(end) {
                        ";" => end,
                        _ => closing(&tokens, text, end)? - 1,
                    };
                    return Some(tokens.get(start)?.start..tokens.get(last)?.end);
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The token behind the bracket that closes the one at a place.
fn closing(tokens: &[Range<usize>], text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, range) in tokens.iter().enumerate().skip(open) {
        match text.get(range.clone())? {
            "{" | "(" => depth += 1,
            "}" | ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Words, strings, marks and whole directives; comments are left out.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut fresh_line = true;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match byte {
            b'\n' => {
                fresh_line = true;
                at += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ if rest.starts_with(b"//") => {
                at += line_length(rest);
                continue;
            }
            _ if rest.starts_with(b"/*") => {
                let end = rest.windows(2).skip(2).position(|two| two == b"*/");
                at += end.map_or(rest.len(), |end| end + 4);
                continue;
            }
            b'#' if fresh_line => line_length(rest),
            b'"' | b'\'' => string_length(rest, byte),
            _ if is_word(byte) => rest.iter().take_while(|&&byte| is_word(byte)).count(),
            _ => 1,
        };
        found.push(at..at + length);
        at += length;
        fresh_line = false;
    }
    found
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The length of a line whose end may be escaped.
fn line_length(rest: &[u8]) -> usize {
    let mut before = 0;
    let end = rest.iter().position(|&byte| {
        let ends = byte == b'\n' && before != b'\\';
        before = byte;
        ends
    });
    end.unwrap_or(rest.len())
}

fn string_length(rest: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    let end = rest.iter().skip(1).position(|&byte| {
        let ends = (byte == quote && !escaped) || byte == b'\n';
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "#include <metal_stdlib>\n\
        using namespace metal;\n\
        #define K(x) { x }\n\
        // assay: launch b --grid N\n\
        kernel void a(device float *o [[buffer(0)]]) { if (o) { /* } */ char c = '}'; } }\n\n\
        template <typename T> kernel void t(device T *o [[buffer(0)]]) {}\n\
        template [[host_name(\"tf\")]] kernel void t<float>(device float *o [[buffer(0)]]);\n\
        // What b does.\n\
        [[max_total_threads_per_threadgroup(64)]]\n\
        kernel void b(device float *o [[buffer(0)]]) {\n    o[0] = 1;\n}\n\
        kernel void c(device float *o [[buffer(0)]]) {}\n";

    #[test]
    fn only_the_kernel_and_its_launch_change() {
        let source = "// b by hand\n// assay: launch b --grid N/2\n#include <metal_stdlib>\nusing namespace metal;\n\n\
            #pragma METAL fp math_mode(safe)\nconstant uint table[1] = {1};\n\nkernel void b(\n    device float* o [[buffer(0)]]) {\n    o[0] = 2;\n}\n";
        let made = spliced(FILE, "b", source).unwrap();
        let patch = crate::diff::unified("k.metal", FILE, &made);
        let gone: Vec<&str> = patch.lines().filter(|line| line.starts_with('-')).collect();
        assert_eq!(
            gone,
            [
                "--- a/k.metal",
                "-// assay: launch b --grid N",
                "-[[max_total_threads_per_threadgroup(64)]]",
                "-kernel void b(device float *o [[buffer(0)]]) {",
                "-    o[0] = 1;",
            ]
        );
        assert!(
            made.contains("// What b does.\nconstant uint table[1] = {1};\n\nkernel void b("),
            "{made}"
        );
        assert!(
            made.contains("{\n#pragma METAL fp math_mode(safe)\n    o[0] = 2;\n}\nkernel void c"),
            "{made}"
        );
    }

    #[test]
    fn a_kernel_that_pays_under_a_condition_stands_beside_the_original() {
        let source = "// assay: launch b --grid N/2\n#include <metal_stdlib>\n\nkernel void b(\n    device float* o [[buffer(0)]]) {\n}\n";
        let made = beside_original(FILE, "b", source).unwrap();
        assert!(
            made.contains("// assay: launch b_tuned --grid N/2\nkernel void b_tuned("),
            "{made}"
        );
        assert_eq!(
            crate::diff::unified("k", FILE, &made)
                .matches("\n-")
                .count(),
            0
        );
    }

    #[test]
    fn an_instantiation_is_replaced_and_a_template_is_not() {
        let source = "kernel void tf(device float* o [[buffer(0)]]) {}\n";
        let made = spliced(FILE, "tf", source).unwrap();
        assert!(
            made.contains("template <typename T>") && !made.contains("host_name"),
            "{made}"
        );
        assert_eq!(spliced(FILE, "t", source), None);
        assert_eq!(spliced(FILE, "missing", source), None);
        assert_eq!(spliced("kernel void b(", "b", source), None);
    }
}

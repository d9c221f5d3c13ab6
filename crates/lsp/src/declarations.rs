//! Kernels in text that need not compile.

/// Where a kernel is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The name a host program uses.
    pub name: String,
    /// The line of the name, from 0.
    pub line: u32,
    /// The byte of the line at which the name starts.
    pub byte: usize,
}

/// The kernels of a source, in order: `kernel void name(`, `[[kernel]] void name(`, and instantiations with a
/// `[[host_name("name")]]`.
pub fn declarations(source: &str) -> Vec<Declaration> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        index += 1;
        let next = |ahead: usize| tokens.get(index - 1 + ahead).map_or("", |token| token.text);
        match token.text {
            "host_name" if next(1) == "(" && next(2).starts_with('"') => {
                if let Some(name) = tokens.get(index + 1) {
                    found.push(Declaration {
                        name: name.text.trim_matches('"').to_owned(),
                        line: name.line,
                        byte: name.byte + 1,
                    });
                }
                // The declaration behind it is not another kernel.
                while tokens
                    .get(index)
                    .is_some_and(|token| !matches!(token.text, "{" | ";"))
                {
                    index += 1;
                }
            }
            "kernel" => {
                if let Some(name) = name_behind(&tokens, index) {
                    found.push(Declaration {
                        name: name.text.to_owned(),
                        line: name.line,
                        byte: name.byte,
                    });
                }
            }
            _ => {}
        }
    }
    found
}

/// The name in `… void name (` behind the word `kernel`.
fn name_behind<'t, 's>(tokens: &'t [Token<'s>], from: usize) -> Option<&'t Token<'s>> {
    let rest = tokens.get(from..)?;
    let end = rest
        .iter()
        .position(|token| matches!(token.text, "{" | ";"));
    let rest = rest.get(..end.unwrap_or(rest.len()))?;
    let at = rest.iter().position(|token| token.text == "void")?;
    let name = rest.get(at + 1)?;
    let is_name = name
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && rest.get(at + 2)?.text == "(").then_some(name)
}

#[derive(Clone, Copy, Debug)]
struct Token<'s> {
    text: &'s str,
    line: u32,
    byte: usize,
}

/// Words, strings and marks; comments are left out.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut line, mut start_of_line) = (0, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let end = match byte {
            b'\n' => {
                line += 1;
                at += 1;
                start_of_line = at;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += until(bytes, at, |rest| rest.first() == Some(&b'\n'));
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                let end = at + until(bytes, at, |rest| rest.starts_with(b"*/"));
                for (offset, _) in source.get(at..end).unwrap_or("").match_indices('\n') {
                    line += 1;
                    start_of_line = at + offset + 1;
                }
                at = end + 2;
                continue;
            }
            b'"' => string_end(bytes, at),
            b if b.is_ascii_alphanumeric() || b == b'_' => {
                at + until(bytes, at, |rest| {
                    !rest
                        .first()
                        .is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_')
                })
            }
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            _ => at + 1,
        };
        if let Some(text) = source.get(at..end) {
            tokens.push(Token {
                text,
                line,
                byte: at - start_of_line,
            });
        }
        at = end;
    }
    tokens
}

fn until(bytes: &[u8], at: usize, stop: impl Fn(&[u8]) -> bool) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    (0..rest.len())
        .find(|&index| rest.get(index..).is_some_and(&stop))
        .unwrap_or(rest.len())
}

/// Behind the closing quote, or at the end of the line.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => return at + 1,
            b'\n' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[(&str, u32, usize)]) {
        let found = declarations(source);
        let found: Vec<(&str, u32, usize)> = found
            .iter()
            .map(|one| (one.name.as_str(), one.line, one.byte))
            .collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn kernels_in_every_spelling() {
        check("kernel void a(uint i) {}", &[("a", 0, 12)]);
        check("[[kernel]] void b(\n uint i) {}", &[("b", 0, 16)]);
        check(
            "[[max_total_threads_per_threadgroup(256)]]\nkernel void c() {}",
            &[("c", 1, 12)],
        );
        check("kernel\nvoid\n  d (uint i) {}", &[("d", 2, 2)]);
        check(
            "template <typename T> kernel void e(device T* x) {}\ntemplate [[host_name(\"e_f32\")]] kernel void e<float>(device float*);",
            &[("e", 0, 34), ("e_f32", 1, 22)],
        );
    }

    #[test]
    fn comments_strings_and_broken_text_declare_nothing() {
        check(
            "// kernel void a() {}\n/* kernel void\nb() {} */ kernel void c() {}",
            &[("c", 2, 22)],
        );
        check("constant char* s = \"kernel void a(\";", &[]);
        check("kernel void", &[]);
        check("kernel; void a(", &[]);
        check("\"no end\nkernel void a(", &[("a", 1, 12)]);
        check("/* no end", &[]);
        check("π kernel void ü() kernel void a() {", &[("a", 0, 32)]);
    }
}

//! The text of a function in a source, as far as brackets tell.

/// A source with blanks in place of its comments; lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('/') {
        let (code, comment) = rest.split_at(at);
        out += code;
        let length = match comment.as_bytes() {
            [b'/', b'/', ..] => comment.find('\n').unwrap_or(comment.len()),
            [b'/', b'*', ..] => comment.find("*/").map_or(comment.len(), |end| end + 2),
            _ => 0,
        };
        match length {
            0 => {
                out.push('/');
                rest = &comment[1..];
            }
            length => {
                let (gone, after) = comment.split_at(length);
                out.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                rest = after;
            }
        }
    }
    out + rest
}

/// Where a name stands before a parenthesis, as in declarations and calls.
fn places<'t>(code: &'t str, function: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let places = code.match_indices(function).map(|(at, _)| at);
    places.filter(move |&at| {
        let before = code[..at].chars().next_back();
        let after = code[at + function.len()..].trim_start();
        !before.is_some_and(is_name) && after.starts_with('(')
    })
}

fn place(code: &str, function: &str) -> Option<usize> {
    places(code, function).next()
}

/// The line that a kernel is declared at, whatever conditions of the preprocessor stand around it.
pub(crate) fn declares_kernel(text: &str, function: &str) -> Option<u32> {
    if function.is_empty() {
        return None;
    }
    let code = without_comments(text);
    let at = places(&code, function).find(|&at| {
        let start = code[..at].rfind([';', '{', '}']).map_or(0, |end| end + 1);
        let mut words = code[start..at].split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.any(|word| word == "kernel")
    })?;
    u32::try_from(code[..at].matches('\n').count() + 1).ok()
}

/// The line a function is declared at: the first that has its name before a parenthesis, outside comments.
///
/// ```
/// assert_eq!(assay_gate::declares("// f(x)\nkernel void f (", "f"), Some(2));
/// ```
pub fn declares(text: &str, function: &str) -> Option<u32> {
    if function.is_empty() {
        return None;
    }
    let code = without_comments(text);
    let at = place(&code, function)?;
    u32::try_from(code[..at].matches('\n').count() + 1).ok()
}

/// The words of a function from its parameters to its end; none if it is not found.
pub(crate) fn body(text: &str, function: &str) -> Option<Vec<String>> {
    let code = without_comments(text);
    let start = place(&code, function)? + function.len();
    let mut depth = 0usize;
    let mut end = code.len();
    for (at, character) in code[start..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            end = start + at;
            break;
        }
    }
    Some(words(&code[start..end]))
}

/// Names, numbers and single signs.
fn words(code: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in code.chars() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !character.is_whitespace() {
            words.push(character.to_string());
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_ends_with_its_bracket_and_comments_are_none_of_it() {
        let text = "/* f(x) { */ void g() { f(1); }\nkernel void h(int a) { // }\n  if (a / 2) { b; }\n}\nint c;";
        assert_eq!(declares(text, "h"), Some(2));
        let body = body(text, "h").unwrap().join(" ");
        assert_eq!(body, "( int a ) { if ( a / 2 ) { b ; }");
        assert_eq!(declares(text, "x"), None);
        assert_eq!(declares("/* never ends f(", "f"), None);
        let text = "float f(float x);\n#if 0\n[[kernel]] void f(int a) {}\n#endif\nkernel void g() { f(1); }";
        assert_eq!(declares_kernel(text, "f"), Some(3));
        assert_eq!(declares_kernel("kernel void g() { f(1); }", "f"), None);
    }
}

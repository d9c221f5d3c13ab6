//! JSON as Python writes it: with `NaN`, `Infinity` and `-Infinity`, which are no JSON.

use std::borrow::Cow;

/// The words, the longest first where one ends like another.
const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The text with `null` for numbers that are none, wherever they stand outside strings.
///
/// ```
/// use assay_board::import::without_odd_numbers;
/// assert_eq!(without_odd_numbers(r#"{"a":NaN,"b":"NaN"}"#), r#"{"a":null,"b":"NaN"}"#);
/// ```
pub fn without_odd_numbers(text: &str) -> Cow<'_, str> {
    if !WORDS.iter().any(|word| text.contains(word)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let word = WORDS
            .iter()
            .find(|word| !inside && rest.starts_with(**word));
        if let Some(word) = word {
            out.push_str("null");
            rest = rest.get(word.len()..).unwrap_or_default();
            continue;
        }
        match character {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            _ => {}
        }
        out.push(character);
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::without_odd_numbers;

    #[test]
    fn odd_numbers_become_null_outside_strings_only() {
        let odd = r#"[NaN, -Infinity, Infinity, -1, "Infinity", "a\"NaN", "\\", NaN]"#;
        let plain = r#"[null, null, null, -1, "Infinity", "a\"NaN", "\\", null]"#;
        assert_eq!(without_odd_numbers(odd), plain);
        assert_eq!(without_odd_numbers("NaN"), "null");
        assert_eq!(without_odd_numbers("\"NaN"), "\"NaN");
    }
}

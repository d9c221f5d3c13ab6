//! Numbers: Metal has no double, and suffixes C++ does not know.

/// What to write for the number `text`, or `None` to leave it.
///
/// An unsuffixed floating literal is a `float`, `h` makes a `half`, `bf` a `bfloat`.
pub(crate) fn rewrite(text: &str) -> Option<String> {
    let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    let floating = if hexadecimal {
        text.contains(['p', 'P'])
    } else {
        text.contains(['.', 'e', 'E'])
    };
    let (digits, suffix) = split_suffix(text, hexadecimal);
    match suffix {
        "" if floating => Some(format!("{text}f")),
        "h" | "H" if floating => Some(format!("{digits}f16")),
        "h" | "H" if !hexadecimal => Some(format!("{digits}.0f16")),
        "bf" | "BF" if floating => Some(format!("((bfloat){digits}f)")),
        "bf" | "BF" if !hexadecimal => Some(format!("((bfloat){digits}.0f)")),
        "f" | "F" if !floating && !hexadecimal => Some(format!("{digits}.0f")),
        _ => None,
    }
}

/// The number without its suffix, and the suffix.
fn split_suffix(text: &str, hexadecimal: bool) -> (&str, &str) {
    let is_digit = |byte: u8| {
        byte.is_ascii_digit()
            || matches!(byte, b'.' | b'\'' | b'+' | b'-')
            || (!hexadecimal && matches!(byte, b'e' | b'E'))
            || (hexadecimal
                && (byte.is_ascii_hexdigit() || matches!(byte, b'x' | b'X' | b'p' | b'P')))
    };
    // A hexadecimal float ends with decimal digits behind its `p`, so that an `f` there
    // is a suffix, not a digit.
    let from = match text.find(['p', 'P']) {
        Some(exponent) if hexadecimal => exponent + 1,
        _ => 0,
    };
    let decimal_tail = from > 0;
    let end = text
        .bytes()
        .enumerate()
        .skip(from)
        .find(|(_, byte)| {
            if decimal_tail {
                !(byte.is_ascii_digit() || matches!(byte, b'+' | b'-'))
            } else {
                !is_digit(*byte)
            }
        })
        .map_or(text.len(), |(index, _)| index);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_get_the_type_metal_gives_them() {
        let check = |text, expected: Option<&str>| {
            assert_eq!(rewrite(text).as_deref(), expected, "{text}");
        };
        check("1.0", Some("1.0f"));
        check("1e-6", Some("1e-6f"));
        check(".5", Some(".5f"));
        check("1.", Some("1.f"));
        check("1.0f", None);
        check("1.0h", Some("1.0f16"));
        check("2h", Some("2.0f16"));
        check("5.0bf", Some("((bfloat)5.0f)"));
        check("0x1p-3", Some("0x1p-3f"));
        check("0x1p-3f", None);
        check("0xbf", None);
        check("0x1e5", None);
        check("42", None);
        check("42u", None);
        check("1f", Some("1.0f"));
        check("0xFFul", None);
    }
}

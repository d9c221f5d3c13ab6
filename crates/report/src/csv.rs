//! Cells of comma-separated values.

use std::borrow::Cow;

/// A text as a cell: quoted where it must be, and never a formula. Spreadsheets execute what begins with `=`, `+`, `-`
/// or `@`, and names come from files of strangers; an apostrophe before it makes it text.
///
/// ```
/// use assay_report::csv::cell;
/// assert_eq!(cell("softmax"), "softmax");
/// assert_eq!(cell("a, \"b\""), "\"a, \"\"b\"\"\"");
/// assert_eq!(cell("=1+1"), "'=1+1");
/// ```
pub fn cell(text: &str) -> Cow<'_, str> {
    let formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let quoted = text.contains([',', '"', '\n', '\r']);
    match (formula, quoted) {
        (false, false) => Cow::Borrowed(text),
        (true, false) => Cow::Owned(format!("'{text}")),
        (false, true) => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        (true, true) => Cow::Owned(format!("\"'{}\"", text.replace('"', "\"\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn what_a_spreadsheet_would_execute_becomes_text() {
        for formula in ["=cmd|'/c calc'!A1", "@SUM(A1)", "+1+1", "-2+3"] {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        assert_eq!(cell("=a,b"), "\"'=a,b\"");
    }

    #[test]
    fn numbers_stay_numbers() {
        for number in ["-1.5", "+2", "-0", "1e9"] {
            assert_eq!(cell(number), number);
        }
    }
}

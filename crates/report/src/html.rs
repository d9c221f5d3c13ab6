//! Self-contained HTML pages: no script, style sheet, font or picture is fetched.

/// `text` with the characters that HTML gives a meaning replaced.
///
/// ```
/// assert_eq!(assay_report::html::escape("a < b & \"c\""), "a &lt; b &amp; &quot;c&quot;");
/// ```
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
    out
}

/// The look shared by every page: light and dark, system fonts, tabular figures.
pub const STYLE: &str = include_str!("page.css");

/// A complete page. `body`, `style` and `script` are inserted as they are: the
/// caller escapes what comes from outside.
pub fn page(title: &str, style: &str, body: &str, script: &str) -> String {
    let title = escape(title);
    let script = if script.is_empty() {
        String::new()
    } else {
        format!("<script>\n{script}\n</script>\n")
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <title>{title}</title>\n<style>\n{STYLE}\n{style}\n</style>\n</head>\n<body>\n{body}\n{script}</body>\n</html>\n"
    )
}

//! How an analysis is shown: text, Markdown, HTML.

pub(crate) mod compare_text;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod strip;
pub(crate) mod text;
mod timeline;
mod timeline_data;
pub(crate) mod compare_html;

/// A fraction as a percentage: `0.028804` → `2.880 %`.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{:.3} %", fraction * 100.0)
}

/// Microseconds, or `unknown`.
pub(crate) fn micros(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3} µs"))
}

/// Milliseconds.
pub(crate) fn millis(value: f64) -> String {
    format!("{value:.3} ms")
}

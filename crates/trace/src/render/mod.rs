//! How an analysis is shown: text, Markdown, HTML.

use crate::analysis::document::{BaselineRow, Regularity};
use assay_report::number::bytes;

pub(crate) mod compare_html;
pub(crate) mod compare_text;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod strip;
pub(crate) mod text;
mod timeline;
mod timeline_data;

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

/// ` (12.30 GB/s, 36 % of the chip's bandwidth)`, as far as it is known.
pub(crate) fn gigabytes(gbs: Option<f64>, traffic_part: Option<f64>) -> String {
    let Some(gbs) = gbs else {
        return String::new();
    };
    let part = traffic_part.map_or_else(String::new, |part| {
        format!(
            ", read and written {:.0} % of the chip's bandwidth",
            part * 100.0
        )
    });
    format!(" ({gbs:.2} GB/s{part})")
}

/// A rate, or `–`.
pub(crate) fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
}

/// A part of what the chip can do, or `–`.
pub(crate) fn part_of_chip(part: Option<f64>) -> String {
    part.map_or_else(|| "–".to_owned(), |part| format!("{:.1} %", part * 100.0))
}

/// Bytes that may be negative.
pub(crate) fn signed_bytes(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", bytes(value.abs() as u64))
}

/// Whether gaps are alike, in a sentence.
pub(crate) fn regularity(regularity: &Regularity) -> String {
    let spread = regularity.spread * 100.0;
    let place = regularity
        .spread_by_place
        .map_or_else(String::new, |place| {
            format!(", between the same labels {:.0} %", place * 100.0)
        });
    let meaning = match regularity.kind.as_str() {
        "regular" => "a fixed cost, paid each time",
        "regular by place" => "each place has a fixed cost of its own",
        "irregular" => "they depend on what the host happens to do",
        _ => "partly a fixed cost, partly what the host happens to do",
    };
    format!(
        "{}: quartiles {spread:.0} % of the median apart{place}: {meaning}",
        regularity.kind
    )
}

/// The figures of a row: this run's, the other engine's, and their ratio.
pub(crate) fn baseline_cells(row: &BaselineRow) -> [String; 3] {
    let figure = |value: Option<f64>| match value {
        None => "unknown".to_owned(),
        Some(value) if row.unit.is_empty() => format!("{value:.0}"),
        Some(value) => format!("{value:.3} {}", row.unit),
    };
    let ratio = row.ratio.map(|ratio| format!("{ratio:.2} ×"));
    [
        figure(row.measured),
        figure(row.baseline),
        ratio.unwrap_or_default(),
    ]
}

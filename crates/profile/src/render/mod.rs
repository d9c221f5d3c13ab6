//! A profile as text, as a page, as a graph.

mod closing;
mod dot;
mod html;
mod lines;
mod listing;
mod side;
mod source;
mod text;
mod time;

pub use dot::dot;
pub use html::{html, html_with_source};
pub use lines::{LineCost, lines};
pub use listing::{ListingRow, listing, rows};
pub use source::Sources;
pub use text::text;

use assay_report::style::Painter;

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Colour or not.
    pub painter: Painter,
    /// Columns.
    pub width: usize,
    /// Whether the annotated listing is part of the report.
    pub listing: bool,
    /// The text of source files, to be shown between the instructions.
    pub sources: Option<&'a Sources>,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Style {
            painter: Painter::default(),
            width: 100,
            listing: false,
            sources: None,
        }
    }
}

//! A profile as text, as a page, as a graph.

mod closing;
mod dot;
mod html;
mod listing;
mod text;
mod wrap;

pub use dot::dot;
pub use html::html;
pub use listing::{ListingRow, listing, rows};
pub use text::text;

use assay_report::style::Painter;

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Colour or not.
    pub painter: Painter,
    /// Columns.
    pub width: usize,
    /// Whether the annotated listing is part of the report.
    pub listing: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            painter: Painter::default(),
            width: 100,
            listing: false,
        }
    }
}

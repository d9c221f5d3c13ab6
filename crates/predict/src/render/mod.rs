//! Predictions for people: text, a page with a picture of the simulated core, and a timeline
//! for Perfetto.

mod html;
mod text;
mod timeline;

pub use html::{html, html_of_comparison};
pub use text::{compared, headline, line_table, origin, reasons, text, time, work_line};
pub use timeline::timeline;

use assay_report::style::Painter;

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Colour or not.
    pub painter: Painter,
    /// Columns.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style {
            painter: Painter::default(),
            width: 100,
        }
    }
}

//! Predictions for people: blocks, a page with a picture of the simulated core, and a timeline
//! for Perfetto.

mod answer;
mod comparison;
mod html;
mod text;
mod timeline;

pub use answer::{
    answer, band, basis, between, doubled, hot_lines, lead, limit, notes, roofs, terms,
};
pub use comparison::{call, compared};
pub use html::{html, html_of_comparison};
pub use text::{headline, origin, reasons, time, work_line};
pub use timeline::timeline;

//! Kernels as programs, for people and programs to read: documents, counts, and their texts.

mod document;
mod statistics;

pub use document::Document;
pub use statistics::{How, Summary, render as render_counts};

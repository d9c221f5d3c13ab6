//! What is inside a file: a document, and its text.

mod document;
mod text;

pub use document::{Argument, Document, File, Kernel, Library, Machine, Slice};
pub use text::render;

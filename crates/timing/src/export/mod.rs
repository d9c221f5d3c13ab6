//! Reports and exports of a snapshot: text, JSON, CSV, Chrome trace, recording. All are
//! functions from a [`Snapshot`](crate::Snapshot) to a `String`; where it goes is the
//! caller's business.

mod chrome;
mod csv;
mod json;
mod recording;
mod summary;
mod text;

pub use recording::{RecordedBuffer, RecordedDispatch, RecordedLosses, RecordedProcess, Recording};
pub use text::TextOptions;

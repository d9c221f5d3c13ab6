//! Where the GPU's time goes: Metal System Trace exports, `.gputrace` captures and
//! recordings of the timing library, read on any machine.
//!
//! ```text
//!  exported tables ─┐
//!  .gputrace ───────┼─▶ Recording ──▶ analyze ──▶ Analysis ──▶ text, JSON, Markdown, HTML
//!  timing JSON ─────┘        └──────▶ compare, Chrome trace, CSV
//! ```
//!
//! A [`Loader`] takes inputs in any order and finds out what each is from its first
//! bytes. [`analyze`] looks at one process in one window of time and says how busy it
//! kept the GPU, what the gaps consist of, what limits the run ([`VerdictKind`]) and what
//! to do about it ([`rules`]). Times are nanoseconds from the start of the recording;
//! what is not known is `None`, never 0.
//!
//! ```
//! use assay_trace::synth::{Scenario, Table, Trace, write_table};
//! use assay_trace::{LoadOptions, Loader, Options, VerdictKind, analyze};
//!
//! // A made-up run takes the place of files exported on a Mac.
//! let trace = Trace::new(&Scenario::eager(2));
//! let mut loader = Loader::new(LoadOptions::default());
//! for table in [Table::Toc, Table::GpuIntervals, Table::Completed] {
//!     let mut xml = Vec::new();
//!     write_table(&trace, table, &mut xml)?;
//!     loader.add(table.file_name(), &xml.as_slice(), &mut |_bytes| {})?;
//! }
//! let analysis = analyze(&loader.finish()?, &Options::default())?;
//! assert_eq!(analysis.verdict.kind, VerdictKind::LaunchBound);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Start reading at [`Recording`], what was read; then `analysis/mod.rs`, the list of
//! computations; then any file under `findings/`, one rule each. The reader of exports
//! is in `xml/`, tables it understands in `tables/`, captures in [`capture`].

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod analysis;
pub mod capture;
mod compare;
mod details;
mod error;
mod events;
mod export;
mod findings;
mod libraries;
mod load;
mod recording;
mod render;
mod source;
pub mod synth;
mod tables;
mod timing;
mod toc;
mod work;
pub mod xctrace;
mod xml;

pub use analysis::document;
pub use analysis::document::{Analysis, VerdictKind};
pub use analysis::gaps::Cause;
pub use analysis::labels::label_family;
pub use analysis::{Options, analyze};
pub use capture::{Bundle, Capture, capture_code, is_capture, read_capture, read_capture_member};
pub use compare::document as compare_document;
pub use compare::{CompareOptions, Gate, compare};
pub use error::{Error, Problem};
pub use events::*;
pub use export::{CsvTable, write_chrome, write_csv, write_raw_csv};
pub use findings::{Rule, rules};
pub use libraries::{GivenLibrary, read_libraries};
pub use load::{LoadOptions, Loader};
pub use recording::{Origin, Recording, TableRead, Thread, Warning};
pub use render::compare_html::compare_html;
pub use render::compare_text::{compare_markdown, compare_text};
pub use render::html::report_html;
pub use render::markdown::report_markdown;
pub use render::text::{TextStyle, report_text};
pub use source::Source;
pub use toc::{TocProcess, TocRun, read_toc};
pub use work::{Work, read_work};
pub use xml::builder::Frame;
pub use xml::header::{Column, Header};
pub use xml::text::{TextId, Texts};

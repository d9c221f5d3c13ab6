//! What must hold of the kernels of a repository, and whether it does.
//!
//! ```text
//! assay.toml ──▶ Config ──▶ (a program compiles, predicts, runs) ──▶ Snapshot of this tree ──┐
//!                               another commit's Snapshot, or the Baseline kept in a file ──┴──▶ judge ──▶ Report
//! ```
//!
//! A [`Snapshot`] is what was found out about the kernels of one tree: figures of their code, predicted times, hashes of what
//! they computed, what a checked run found. [`judge`] pairs the kernels of two snapshots, compares them under a [`Config`] and
//! says what failed, at which line, and what to do. [`render`] writes the [`Report`] as text, Markdown, SARIF, JUnit or
//! workflow commands. Nothing here reads files, calls git or compiles.
//!
//! ```
//! use assay_gate::{Config, Judge, Kernel, Snapshot, judge};
//!
//! let config = Config::parse("[[kernels]]\nfiles = ['*.metal']\n")?;
//! let kernel = |registers| Kernel {
//!     figures: [("registers".to_owned(), registers)].into(),
//!     ..Kernel::new("k.metal", "k")
//! };
//! let (base, head) = (Snapshot::of([kernel(16.0)]), Snapshot::of([kernel(24.0)]));
//! let report = judge(&Judge::new(&config), Some(&base), &head);
//! assert_eq!(report.problems[0].rule, "registers-grew");
//! # Ok::<(), assay_gate::ConfigError>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod accept;
mod baseline;
mod body;
mod config;
mod examine;
mod figure;
mod judge;
mod lines;
mod pairing;
mod program;
pub mod render;
mod report;
mod results;
mod right;
mod rules;
mod snapshot;
mod weakened;

pub use accept::Accept;
pub use baseline::{Baseline, BaselineError};
pub use body::declares;
pub use config::{
    Check, Config, ConfigError, Group, OneOrMany, Only, Oracle, Tolerance, WhenFaster,
};
pub use figure::{Better, FIGURES, Figure};
pub use judge::{Differs, Explain, Judge, judge};
pub use lines::{Texts, changed_line};
pub use pairing::pairs;
pub use program::{Held, Limit, Measured, Program, ProgramTime};
pub use report::{
    Against, ConfigurationChange, Difference, Level, Outcome, Problem, ProgramVerdict, Report,
    Standing, Summary, Verdict,
};
pub use right::Right;
pub use rules::rules;
pub use snapshot::{
    Contents, Failed, FileFailure, Found, Kernel, LineCost, Place, RunResult, Snapshot, Time,
};
pub use weakened::{Part, Sides, weakened};

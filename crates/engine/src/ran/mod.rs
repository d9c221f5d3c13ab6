//! What a run gave: results, the verdict on them, faults with their lines, counts and times, as one document and as text.

// A field that JSON shows is described in the schema where its name does not say it.
#![allow(missing_docs)]

mod counts;
mod faults;
mod report;
mod verdict;

pub use counts::{By, Counted};
pub use faults::ReadFile;
pub use report::{Finding, Party, Report, Shown, Times, Written};
pub use verdict::{Judged, Verdict, Worst};

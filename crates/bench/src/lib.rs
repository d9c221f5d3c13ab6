//! What `assay bench` is made of: kernels, what is right, whether a result is, how long it took, what that is worth.
//!
//! - [`registry`]: the kernels with their arguments, sizes, geometry, tolerances and costs, as files;
//!   `assay-launch` has the small formulas in them and evaluates them.
//! - [`inputs`]: random inputs of the kind each argument needs; [`adversary`]: those that separate right from nearly
//!   right.
//! - [`runner`]: a kernel at certain sizes on any [`assay_device::Device`], between guards.
//! - [`gate`]: whether a kernel computes what it should.
//! - [`mutants`]: kernels that are wrong by one operation, to see whether the gate notices.
//! - [`measure`]: how long it takes.
//! - [`mod@reference`]: something else that computes the same, to compare times with.
//! - [`stats`]: what samples of a time say; [`score`]: what the time is worth.
//! - [`lock`]: one benchmark at a time; [`journal`]: what a sweep has finished.
//! - [`oracle`]: what each operation computes, in plain double precision.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod adversary;
mod buffers;
pub mod gate;
pub mod inputs;
pub mod journal;
pub mod lock;
pub mod measure;
pub mod mutants;
pub mod oracle;

pub mod reference;
pub mod registry;
pub mod runner;
pub mod score;
pub mod stats;

pub use assay_launch::{Dtype, dtype, formula, random};

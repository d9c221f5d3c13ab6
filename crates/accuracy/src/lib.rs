//! Predicted GPU times against published measurements.
//!
//! A [`Case`] is a measured command buffer with everything needed to run it on the
//! emulator. Sources are read from a folder of checkouts and never enter this
//! repository; what does enter is our own executions of them ([`store`]), from which
//! constants are fitted ([`fit`](mod@fit)) and every table is made ([`report`]).

pub mod bands;
pub mod build;
pub mod case;
pub mod contents;
pub mod digest;
pub mod fit;
pub mod folds;
pub mod judge;
pub mod page;
pub mod pairs;
pub mod ranking;
pub mod report;
pub mod run;
pub mod search;
pub mod sets;
pub mod stats;
pub mod store;
pub mod table;

pub use case::{Case, Cases, Set};

/// Anything that can go wrong, worded for people.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
/// A result with such an error.
pub type Result<T> = std::result::Result<T, Error>;

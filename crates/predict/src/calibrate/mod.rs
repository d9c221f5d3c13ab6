//! Calibration: constants of the model from microbenchmarks on one machine.
//!
//! [`Plan`] says which kernels of [`SOURCE`] run with which sizes, and which constant each
//! determines; whoever has a GPU runs them; [`solve`] moves the constants until the model gives the
//! measured times. [`ChipFile`] keeps them for predictions to come.

mod chip_file;
mod probe;
mod solve;

pub use chip_file::{ChipFile, FileError, Row};
pub use probe::{Plan, Probe, SOURCE, Unknown};
pub use solve::{How, Measured, Solved, solve};

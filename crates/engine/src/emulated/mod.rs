//! A program on the emulator: the code of a file, a launch bound to uniforms and memory, and what a run did.

mod failure;
mod program;
mod report;
mod setup;

pub use failure::failure;
pub use program::{Opened, program};
pub use report::Report;
pub use setup::{Options, Setup, is_slot, number};

//! Apple GPU machine code (G13 and G14) from the program form.
//!
//! ```text
//! ssa (optimised) ──lower──▶ mir ──back──▶ agx::Program
//! ```
//!
//! [`lower`] knows programs: types, memory, builtins, control. [`mir`] is machine
//! instructions over virtual registers. [`back`] knows registers and time: scheduling,
//! allocation, waits, hints, encoding. Neither looks into the other.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod back;
pub mod lower;
pub mod mir;

mod error;

pub use error::{Error, ErrorKind, THREADGROUP_MEMORY};

use assay_agx::{Isa, Program};
use assay_ssa::Module;

/// What may be chosen about generated code.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Instruction set.
    pub isa: Isa,
    /// Threads per threadgroup, when the dispatch is known. It bounds the registers so that one such threadgroup fits, and so
    /// does the maximum that the kernel declares, whichever is larger; without both all 256 half registers may be used.
    pub threadgroup: Option<[u32; 3]>,
}

/// Generates the code of one kernel of an optimised module.
pub fn generate(module: &Module, kernel: &str, options: &Options) -> Result<Program, Error> {
    let lowered = lower::lower(module, kernel, options)?;
    back::finish(lowered, options)
}

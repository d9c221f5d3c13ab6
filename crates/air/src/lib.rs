//! Reads Metal kernels from LLVM bitcode: Apple's AIR (the contents of every `.metallib`) and what our
//! own clang front end writes. No LLVM is linked.
//!
//! Two steps: [`llvm::read`] decodes the bitcode into a plain model of the LLVM module.

pub mod bitstream;
mod error;
pub mod llvm;

pub use error::{BitOffset, Error, Problem};

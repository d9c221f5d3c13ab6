//! Reads Metal kernels from LLVM bitcode: Apple's AIR (the contents of every `.metallib`) and what our
//! own clang front end writes. No LLVM is linked.
//!
//! Two steps, each usable alone: [`llvm::read`] decodes bitcode into a plain model of the LLVM module;
//! [`lower()`] turns such a model into the program form of `assay-ssa`, in which Apple's dialect and clang's
//! look the same.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod bitstream;
mod error;
pub mod llvm;
mod lower;

pub use error::{BitOffset, Error, Problem};
pub use lower::{
    ConstantKey, ConstantSyntax, Dialect, GivenConstant, Kernels, LowerError, Options, Signature,
    Versions, kernel_names, lower, lower_with, signatures, versions,
};

//! Machine code for the CPU, made by clang.
//!
//! [`Compiler`] is a clang as a child process: text of LLVM's intermediate language in, an object file out, kept in a cache on
//! disk if there is one. [`Image`] is an object file mapped into memory, ready to be called; no linker and no loader of the system
//! has a part in it. What the text means is its writer's business (`assay-exec`'s module `native`).

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod cache;
mod compiler;
mod image;

pub use compiler::{CompileError, Compiler};
pub use image::{Image, LoadError};

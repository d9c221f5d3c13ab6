//! Machine code for the CPU, made by clang.
//!
//! [`Compiler`] is a clang as a child process: text of LLVM's intermediate language in, an object file out, kept in a cache on
//! disk if there is one. [`Image`] is an object file mapped into memory, ready to be called; no linker and no loader of the system
//! has a part in it. What the text means is its writer's business (`assay-exec`'s module `native`).
//!
//! # Why clang
//!
//! Two engines were weighed. Cranelift works inside the process, in pure Rust, and compiles in milliseconds; its vectors have 128
//! bits, so 32 lanes are eight values with eight instructions each, and it knows neither masked accesses nor gathers, coroutines nor
//! folding of bounds checks. clang is a program that Assay needs for Metal source anyway, has the platform's widest vectors and all of
//! that; it costs some 60 to 250 ms a kernel and must be there for metallibs too: without it kernels are interpreted, as before.
//!
//! Host times on one core of an AMD EPYC with AVX-512, 512³, both builds and the interpreter in one minute (the machine was busy with
//! other work, which halves all figures): a tiled product 2.4 GFLOP/s interpreted, 5.1 as the same text compiled for 128-bit vectors
//! with fused multiply-add (all that Cranelift could give at best), 12.9 for 512-bit ones; simdgroup matrices 1.1, 17.0 and 126.

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

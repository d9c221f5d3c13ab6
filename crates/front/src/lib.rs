//! The front end: from the bytes of a file to the optimised programs of its kernels.
//!
//! Every command, device, test and benchmark that starts from a kernel takes this road, once:
//!
//! ```text
//! bytes ──▶ File ──(Compiler, for source)──▶ Library ──▶ Kernel ──(function constants)──▶ optimised ssa::Module
//! ```
//!
//! - [`File::open`] says what the bytes are: source, a listing, assembly, or one of Apple's containers.
//! - [`File::library`] gives the kernels of source, metallibs and bitcode. Source goes through a [`Compiler`],
//!   which is a trait: [`Clang`] calls a child process, a test or a server may do something else.
//! - [`Kernel::program`] reads, lowers, verifies and optimises one kernel.
//!
//! Bytes are shared, not copied ([`Bytes`]), bitcode with many kernels is read once, and every way to fail is a
//! variant of [`Error`].
//!
//! ```no_run
//! use assay_front::{Clang, Library, Source, SourceOptions};
//! use std::path::Path;
//!
//! let clang = Clang::new(assay_msl::Compiler::new("clang-19"), "/tmp/assay");
//! let text = b"kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
//! let source = Source { path: Path::new("twice.metal"), text };
//! let library = Library::compile(source, &clang, &SourceOptions::default())?;
//! let module = library.kernel("twice")?.program(&[])?;
//! assert_eq!(module.kernels[0].name, "twice");
//! # Ok::<(), assay_front::Error>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod bytes;
mod compiler;
mod constants;
mod error;
mod file;
pub mod inspect;
mod library;
mod program;
pub mod programs;
mod tensors;

pub use assay_air::{ConstantKey, GivenConstant};
pub use assay_msl::Source;
pub use assay_opt::pipeline::Checks;
pub use bytes::Bytes;
pub use compiler::{Clang, Compiler, CompilerError, SourceOptions};
pub use constants::{check_constants, constants};
pub use error::{Blame, Error, Problem};
pub use file::{File, Kind, is_source};
pub use library::{Kernel, Library};
pub use program::{Form, OpenConstants, Program, Request};
pub use tensors::{TensorOperation, tensor_operations};

//! Any input to a kernel, and everything that can be asked of one: code, profile, execution, predicted time, run, check.
//!
//! A [`Workspace`] has what questions need of the world: a compiler, whoever reads files, whoever is told what is begun. It
//! opens a file and gives a [`Kernel`], whose answers are typed values; what is computed once is kept. Terminals, editors,
//! agents and other languages are front ends of this crate. It prints nothing and reads no arguments or environment.
//!
//! ```no_run
//! use assay_engine::{Settings, Workspace};
//! use assay_front::{Bytes, SourceOptions};
//! use assay_launch::{NoFiles, Written};
//! use std::path::Path;
//! use std::sync::Arc;
//! # fn compiler() -> Arc<dyn assay_front::Compiler> { unimplemented!() }
//!
//! let workspace = Workspace::new(compiler(), Arc::new(NoFiles));
//! let text = "// assay: launch twice --grid 64 --threadgroup 64 --arg x=random:64\n\
//!             kernel void twice(device float *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
//! let bytes = Bytes::from(text.as_bytes().to_vec());
//! let settings = Settings::default();
//! let kernel = workspace.open(Path::new("twice.metal"), &bytes, None, &settings)?;
//! let launched = kernel.launched(Written::default())?.expect("a comment says how");
//! let after = kernel.run(&launched, &launched.launch.first_sizes()?)?;
//! assert_eq!(after[0].1.len(), 256);
//! # Ok::<(), assay_engine::Error>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod answer;
pub mod bound;
pub mod chips;
pub mod code;
pub mod diagnosis;
pub mod diagnostics;
pub mod emulated;
mod error;
pub mod execution;
mod guessed;
mod kernel;
mod launched;
pub mod lines;
pub mod loaded;
pub mod names;
mod phases;
mod place;
pub mod prediction;
pub mod profiling;
pub mod ran;
mod runner;
pub mod targets;
mod workspace;

pub use error::{Error, Kind};
pub use guessed::{Guessed, Unlaunched};
pub use kernel::Kernel;
pub use launched::{Launched, Origin, SharedFiles};
pub use phases::Phases;
pub use place::Place;
pub use runner::Runner;
pub use workspace::{Settings, Workspace, front_error, library_error, shown_name};

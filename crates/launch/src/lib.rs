//! How a kernel is dispatched: one description for every command, file and comment.
//!
//! A launch is written once, as formulas over named sizes ([`template`]), and evaluated at certain sizes to plain
//! numbers ([`Launch`]): arguments with shapes, function constants, and one or more passes, each a dispatch of one
//! kernel with its grid, threadgroup, threadgroup memory and bindings.
//!
//! ```
//! use assay_launch::template::{Binding, Grid, Pass, Template};
//! use assay_launch::{Dtype, Extent, Sizes, extent};
//!
//! let pass = Pass {
//!     function: "saxpy".to_owned(),
//!     bindings: Vec::new(),
//!     grid: Grid::Threads(extent("N")?),
//!     threadgroup: extent("min(N, 256)")?,
//!     threadgroup_memory: Vec::new(),
//!     repeat: None,
//! };
//! let template = Template { passes: std::slice::from_ref(&pass), ..Template::default() };
//! let launch = template.at(&Sizes::from([("N".to_owned(), 1000)]), Dtype::F32)?;
//! assert_eq!(launch.passes[0].extent, Extent::Threads([1000, 1, 1]));
//! assert_eq!(launch.passes[0].groups(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A launch in plain numbers is a template without names. What was proven at it is proven at that launch only:
//! [`is_plain`] tells.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod contents;
pub mod dtype;
pub mod element;
mod evaluate;
mod flags;
pub mod formula;
mod launch;
pub mod npy;
pub mod picture;
pub mod random;
pub mod template;
pub mod texture;

pub use dtype::Dtype;
pub use evaluate::{Error, LARGEST};
pub use flags::{Size, cases, describe, extent, is_plain};
pub use formula::{Formula, Sizes};
pub use launch::{Argument, Binding, Extent, Launch, Pass, Role};
pub use template::Values;

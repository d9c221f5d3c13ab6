//! How a kernel is dispatched: one description for every command, file and comment.
//!
//! A launch is written once, as formulas over named sizes: as flags ([`Written`]) or as a registry describes it
//! ([`template`]). At certain sizes it is plain numbers and bytes, the same for whoever runs, checks, predicts or tunes.
//!
//! ```
//! use assay_launch::{Extent, NoFiles, Written};
//! use assay_ssa::{Argument, Binding};
//!
//! let text = "// assay: launch scale --size N=1000 --grid N --threadgroup min(N,256) --arg x=random:N";
//! let mut launch = Written::in_comments(text, "scale")?.expect("a launch");
//! let mut x = Argument::new("x", Binding::Buffer(0));
//! (x.type_name, x.size) = ("float".to_owned(), 4);
//!
//! launch.resolve("scale", &[x.clone()])?;
//! let sizes = launch.first_sizes()?;
//! assert_eq!(launch.geometry(&sizes)?, (Extent::Threads([1000, 1, 1]), [256, 1, 1]));
//! let inputs = launch.inputs(&[x], &sizes, &NoFiles)?;
//! assert_eq!(inputs.buffers[0].size(), 4000);
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
pub mod fill;
mod flags;
pub mod formula;
pub mod guess;
pub mod inputs;
mod launch;
mod mistake;
pub mod npy;
pub mod picture;
pub mod random;
mod resolve;
pub mod resources;
pub mod series;
pub mod template;
pub mod texture;
mod vary;
mod written;

pub use dtype::Dtype;
pub use evaluate::{Error, LARGEST};
pub use flags::{Size, cases, describe, extent, is_plain};
pub use formula::{Formula, Sizes};
pub use inputs::{Buffer, Files, Inputs, NoFiles, Start};
pub use launch::{Argument, Binding, Extent, Launch, Pass, Role};
pub use mistake::{Blame, Mistake};
pub use template::Values;
pub use vary::{Trial, weaker};
pub use written::{Bound, Comment, LAUNCH_FORMS, Target, Written, comments, misplaced, triple};

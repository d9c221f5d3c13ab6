//! Opens any Apple GPU file.
//!
//! [`mtlb`] reads metallibs, [`bitcode`] recognises LLVM modules.

#![warn(missing_docs)]

pub mod bitcode;
mod error;
pub mod mtlb;
mod view;

pub use error::{Error, Problem};
pub use view::View;

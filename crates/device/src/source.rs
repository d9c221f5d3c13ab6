//! Source text and how to compile it.

use std::path::Path;

pub use assay_front::SourceOptions as CompileOptions;

/// Metal source.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name in messages; quoted includes are searched beside it first, where the device can.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
}

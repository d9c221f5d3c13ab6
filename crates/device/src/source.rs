//! Source text and how to compile it.

use assay_msl::Standard;
use std::path::{Path, PathBuf};

/// Metal source.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name in messages; quoted includes are searched beside it first, where the device can.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
}

/// How to compile source. [`Default`] is Metal's default: fast math, Metal 3.1.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// Metal's default arithmetic, which may reorder and assume no NaN.
    pub fast_math: bool,
    /// The version of the language.
    pub standard: Standard,
    /// Folders for `#include`, in order.
    pub include_folders: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            fast_math: true,
            standard: Standard::default(),
            include_folders: Vec::new(),
            defines: Vec::new(),
        }
    }
}

//! A clang that is WebAssembly, called through the page's JavaScript.

use assay_msl::Compiler;

/// The folder of headers and precompiled headers, in memory.
pub(crate) const FOLDER: &str = "/assay";

/// The clang that the page has loaded.
pub(crate) fn program() -> Option<Compiler> {
    None
}

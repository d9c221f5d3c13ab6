//! What an editor shows of a Metal source.
//!
//! The language server's pure half: a [`Text`] that follows an editor's changes, an [`Analysis`] of one version of it, and
//! functions from both to the protocol's values. Compiling, profiling, threads and the wire are the program's
//! (`assay lsp`).
//!
//! - [`Text`] has positions in the encoding that editor and server agreed on.
//! - [`declarations()`] finds kernels in text that need not compile.
//! - [`KernelReport`] is what a profile and a prediction say about lines of the source.
//! - [`diagnostics()`], [`hints()`], [`hover()`], [`lenses()`] and [`action_at()`] are what is shown.
//! - [`server`] is what a server knows between two messages.
//!
//! ```
//! use assay_lsp::{Encoding, Text, declarations};
//!
//! let mut text = Text::new("kernel void twice(device float* x) {}\n");
//! assert_eq!(declarations(text.as_str())[0].name, "twice");
//! let name = assay_lsp::range(0, 12, 17);
//! text.edit(Some(name), "thrice", Encoding::Utf16);
//! assert_eq!(declarations(text.as_str())[0].name, "thrice");
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod actions;
mod analysis;
mod declarations;
mod diagnostics;
mod hints;
mod hover;
mod lens;
mod report;
pub mod server;
mod text;

pub use actions::{Target, action_at, new_file, rewrite_action};
pub use analysis::{Analysis, Problem, ProblemNote};
pub use declarations::{Declaration, declarations};
pub use diagnostics::{Pages, diagnostics};
pub use hints::{Shown, hints};
pub use hover::hover;
pub use lens::{RUN_WITH_CHECK, lenses};
pub use report::{Finding, KernelReport, LineReport, Time};
pub use text::{Edited, Encoding, Text, range};

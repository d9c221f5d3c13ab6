//! What the user asks for that takes a while.

use crate::Target;
use lsp_types::{CodeAction, Diagnostic, Uri};

/// An errand.
#[derive(Clone, Debug)]
pub enum Errand {
    /// Which recipes apply to a kernel, as actions.
    Choices {
        uri: Uri,
        target: Target,
        diagnostics: Vec<Diagnostic>,
    },
    /// The edit of an action.
    Rewrite {
        uri: Uri,
        kernel: String,
        step: String,
        action: Box<CodeAction>,
    },
    /// A run with checks.
    Check { uri: Uri, kernel: String },
}

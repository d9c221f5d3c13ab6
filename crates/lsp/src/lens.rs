//! What can be done with a kernel, above its declaration.

use crate::analysis::Analysis;
use crate::text::{Encoding, Text};
use lsp_types::{CodeLens, Command, Uri};
use serde_json::json;

/// The command that runs a kernel with checks; its arguments are the document's URI and the kernel's name.
pub const RUN_WITH_CHECK: &str = "assay.runWithCheck";

/// A lens at every kernel.
pub fn lenses(text: &Text, analysis: &Analysis, uri: &Uri, encoding: Encoding) -> Vec<CodeLens> {
    let declared = analysis.declarations.iter();
    // A template is run through its instantiations.
    let known = |name: &str| {
        let mut others = analysis.waiting.iter().chain(&analysis.left);
        analysis.kernel(name).is_some() || others.any(|one| one == name)
    };
    let lenses = declared.filter(|one| known(&one.name)).map(|one| {
        let title = if analysis.launched.contains(&one.name) {
            "run with check"
        } else {
            "run with check (needs a comment // assay: launch)"
        };
        CodeLens {
            range: text.word_range(one.line, one.byte, encoding),
            command: Some(Command {
                title: title.to_owned(),
                command: RUN_WITH_CHECK.to_owned(),
                arguments: Some(vec![json!(uri), json!(one.name)]),
            }),
            data: None,
        }
    });
    lenses.collect()
}

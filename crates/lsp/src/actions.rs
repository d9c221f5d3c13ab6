//! Recipes as code actions.

use crate::analysis::Analysis;
use lsp_types::{
    CodeAction, CodeActionKind, CreateFile, CreateFileOptions, Diagnostic, DocumentChangeOperation,
    DocumentChanges, NumberOrString, OneOf, OptionalVersionedTextDocumentIdentifier, Position,
    Range, ResourceOp, TextDocumentEdit, TextEdit, Uri, WorkspaceEdit,
};
use serde_json::json;

/// What actions are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The kernel.
    pub kernel: String,
    /// Recipes that answer a finding at the place; empty if there is none.
    pub preferred: Vec<&'static str>,
}

/// The kernel at a range, if it has a launch and so can be rewritten.
pub fn action_at(analysis: &Analysis, range: Range) -> Option<Target> {
    let name = analysis.kernel_at(range.start.line)?;
    if !analysis.launched.iter().any(|launched| launched == name) {
        return None;
    }
    let findings = analysis.kernel(name).map(|kernel| kernel.findings.iter());
    let findings = findings.into_iter().flatten();
    let here = findings.filter(|finding| {
        finding
            .line
            .is_some_and(|line| (range.start.line..=range.end.line).contains(&line))
    });
    let preferred = here.flat_map(|finding| finding.recipes.iter().copied());
    Some(Target {
        kernel: name.to_owned(),
        preferred: preferred.collect(),
    })
}

/// The action that applies a step of a recipe; the edit is made when the editor asks for it.
pub fn rewrite_action(
    uri: &Uri,
    target: &Target,
    (recipe, step, class): (&str, &str, char),
    diagnostics: &[Diagnostic],
) -> CodeAction {
    let preferred = target.preferred.contains(&recipe);
    let same = match class {
        'E' => "same bytes",
        _ => "sums in another order",
    };
    // The action answers diagnostics whose rule names the recipe.
    let answers = |one: &&Diagnostic| {
        preferred
            && matches!(&one.code, Some(NumberOrString::String(_)))
            && one.message.contains(recipe)
    };
    let answered: Vec<Diagnostic> = diagnostics.iter().filter(answers).cloned().collect();
    CodeAction {
        title: format!("Rewrite {} by {step} ({same})", target.kernel),
        kind: Some(CodeActionKind::REFACTOR_REWRITE),
        diagnostics: (!answered.is_empty()).then_some(answered),
        data: Some(json!({ "uri": uri, "kernel": target.kernel, "step": step })),
        ..CodeAction::default()
    }
}

/// The edit that puts text into a new file.
pub fn new_file(uri: Uri, text: String) -> WorkspaceEdit {
    let start = Position::new(0, 0);
    let create = CreateFile {
        uri: uri.clone(),
        options: Some(CreateFileOptions {
            overwrite: Some(false),
            ignore_if_exists: Some(false),
        }),
        annotation_id: None,
    };
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version: None },
        edits: vec![OneOf::Left(TextEdit::new(Range::new(start, start), text))],
    };
    WorkspaceEdit {
        document_changes: Some(DocumentChanges::Operations(vec![
            DocumentChangeOperation::Op(ResourceOp::Create(create)),
            DocumentChangeOperation::Edit(edit),
        ])),
        ..WorkspaceEdit::default()
    }
}

//! Errors in Metal source: as text with the line they are about, and as data.

use crate::{Error as Failure, Kind};
use assay_msl::{Diagnostic, Error, Place};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// An error in the source.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[allow(
    missing_docs,
    reason = "fields of a JSON document, named for those who read it"
)]
pub struct ErrorEntry {
    pub message: String,
    /// Null when the error has no place in the source.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Byte column from 1; null when only the line is known.
    pub column: Option<u32>,
    pub source_line: Option<String>,
    pub notes: Vec<NoteEntry>,
}

/// What explains an error.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NoteEntry {
    message: String,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

/// Errors shown in full; the others are counted.
const SHOWN: usize = 10;

/// The failure of a compilation.
pub fn failure(path: &Path, error: &Error) -> Failure {
    match error {
        Error::Source(diagnostics) => {
            let count = diagnostics.len();
            let plural = if count == 1 { "" } else { "s" };
            let mut message = format!("{} has {count} error{plural}\n", path.display());
            for diagnostic in diagnostics.iter().take(SHOWN) {
                message.push('\n');
                message.push_str(&render(diagnostic));
            }
            if count > SHOWN {
                let _ = writeln!(message, "\nand {} more", count - SHOWN);
            }
            let entries: Vec<ErrorEntry> = diagnostics.iter().map(error_entry).collect();
            let failure = Failure::input(message.trim_end().to_owned())
                .details(serde_json::json!({ "errors": entries }));
            match advice(diagnostics) {
                Some(advice) => failure.advice(advice),
                None => failure,
            }
        }
        Error::CannotRun { .. } | Error::Library(_) => {
            Failure::new(Kind::Missing, error.to_string())
        }
        Error::Cache { .. } => Failure::new(Kind::Missing, error.to_string())
            .advice("let ASSAY_CACHE name a folder that can be written"),
    }
}

/// What to do about errors that have one known cause.
fn advice(diagnostics: &[Diagnostic]) -> Option<String> {
    let missing = diagnostics.iter().find_map(|diagnostic| {
        let name = diagnostic.message.strip_suffix("' file not found")?;
        name.strip_prefix('\'')
    })?;
    Some(format!("name the folder of {missing} with -I"))
}

/// A diagnostic with the line it is about.
pub fn render(diagnostic: &Diagnostic) -> String {
    let mut out = format!("{diagnostic}\n");
    snippet(
        &mut out,
        diagnostic.place.as_ref(),
        diagnostic.source_line.as_deref(),
    );
    for note in &diagnostic.notes {
        match &note.place {
            Some(place) => {
                let _ = writeln!(out, "{place}: note: {}", note.message);
            }
            None => {
                let _ = writeln!(out, "note: {}", note.message);
            }
        }
        snippet(&mut out, note.place.as_ref(), note.source_line.as_deref());
    }
    out
}

fn snippet(out: &mut String, place: Option<&Place>, line: Option<&str>) {
    let (Some(place), Some(line)) = (place, line) else {
        return;
    };
    let number = place.line.to_string();
    let _ = writeln!(out, " {number} | {line}");
    if place.column > 0 {
        // Tabs stay tabs, so that the mark stands under its character.
        let until = (place.column as usize - 1).min(line.len());
        let blanks: String = line
            .char_indices()
            .take_while(|(index, _)| *index < until)
            .map(|(_, character)| if character == '\t' { '\t' } else { ' ' })
            .collect();
        let _ = writeln!(out, " {} | {blanks}^", " ".repeat(number.len()));
    }
}

/// An error as data.
pub fn error_entry(diagnostic: &Diagnostic) -> ErrorEntry {
    let (file, line, column) = parts(diagnostic.place.as_ref());
    ErrorEntry {
        message: diagnostic.message.clone(),
        file,
        line,
        column,
        source_line: diagnostic.source_line.clone(),
        notes: diagnostic
            .notes
            .iter()
            .map(|note| {
                let (file, line, column) = parts(note.place.as_ref());
                NoteEntry {
                    message: note.message.clone(),
                    file,
                    line,
                    column,
                }
            })
            .collect(),
    }
}

fn parts(place: Option<&Place>) -> (Option<String>, Option<u32>, Option<u32>) {
    match place {
        Some(place) => (
            Some(place.file.display().to_string()),
            Some(place.line),
            (place.column > 0).then_some(place.column),
        ),
        None => (None, None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_character() {
        let diagnostic = Diagnostic {
            message: "no".to_owned(),
            place: Some(Place {
                file: "k.metal".into(),
                line: 12,
                column: 4,
            }),
            source_line: Some("\t  x.q".to_owned()),
            notes: Vec::new(),
        };
        assert_eq!(
            render(&diagnostic),
            "k.metal:12:4: no\n 12 | \t  x.q\n    | \t  ^\n"
        );
    }
}

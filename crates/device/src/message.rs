//! What Apple's compilers say, as diagnostics at the user's own file.

use crate::error::Error;
use crate::source::Source;
use crate::{Diagnostic, Note, Place};

/// The errors in what the compiler said, each with the notes that follow it. `prefix` is how lines about the source
/// begin, up to the line number.
pub(crate) fn compile_error(words: &str, prefix: &str, source: Source<'_>) -> Error {
    let mut errors: Vec<Diagnostic> = Vec::new();
    for line in words.lines() {
        let Some((place, severity, message)) = parse(line, prefix, source) else {
            continue;
        };
        let source_line = place
            .as_ref()
            .and_then(|place| source.text.lines().nth(place.line.checked_sub(1)? as usize))
            .map(str::to_owned);
        match (severity, errors.last_mut()) {
            ("error" | "fatal error", _) => errors.push(Diagnostic {
                message,
                place,
                source_line,
                notes: Vec::new(),
            }),
            ("note", Some(error)) => error.notes.push(Note {
                message,
                place,
                source_line,
            }),
            _ => {}
        }
    }
    if errors.is_empty() {
        return Error::Compiler(words.trim().to_owned());
    }
    Error::Source(errors)
}

/// `PREFIX LINE:COLUMN: SEVERITY: MESSAGE`
fn parse<'a>(
    line: &'a str,
    prefix: &str,
    source: Source<'_>,
) -> Option<(Option<Place>, &'a str, String)> {
    let rest = line.trim_start().strip_prefix(prefix)?;
    let (row, rest) = rest.split_once(':')?;
    let (column, rest) = rest.split_once(':')?;
    let (severity, message) = rest.split_once(':')?;
    let place = Place {
        file: source.path.to_owned(),
        line: row.parse().ok()?,
        column: column.parse().ok()?,
    };
    Some((Some(place), severity.trim(), message.trim().to_owned()))
}

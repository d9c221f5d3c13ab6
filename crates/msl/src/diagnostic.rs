//! Errors in the user's source, at the user's place.

use crate::beneath::Folders;
use std::path::{Path, PathBuf};

/// A place in a file; lines and columns count from 1, columns in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as the user named it.
    pub file: PathBuf,
    /// Line.
    pub line: u32,
    /// Column, 0 when only the line is known.
    pub column: u32,
}

/// One error with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// The line at that place, without its newline.
    pub source_line: Option<String>,
    /// Further places that explain it.
    pub notes: Vec<Note>,
}

/// Something that explains an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it says.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// The line at that place.
    pub source_line: Option<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}", self.message)
    }
}

/// A line of the compiler's output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Raw<'o> {
    pub(crate) place: Option<(&'o str, u32, u32)>,
    pub(crate) note: bool,
    pub(crate) warning: bool,
    pub(crate) message: &'o str,
}

/// The errors and notes in the compiler's output; other lines are dropped, warnings and their notes too.
pub(crate) fn parse(output: &str) -> Vec<Raw<'_>> {
    of_kind(output, false)
}

/// The warnings and notes in the compiler's output.
pub(crate) fn parse_warnings(output: &str) -> Vec<Raw<'_>> {
    of_kind(output, true)
}

fn of_kind(output: &str, warnings: bool) -> Vec<Raw<'_>> {
    let mut wanted = !warnings;
    let all = output.lines().filter_map(parse_line);
    let chosen = all.filter(|raw| {
        if !raw.note {
            wanted = raw.warning == warnings;
        }
        wanted
    });
    chosen.collect()
}

fn parse_line(line: &str) -> Option<Raw<'_>> {
    let marks = [
        (": fatal error: ", false),
        (": error: ", false),
        (": warning: ", false),
        (": note: ", true),
    ];
    let (at, mark, note) = marks
        .iter()
        .filter_map(|(mark, note)| line.find(mark).map(|at| (at, *mark, *note)))
        .min_by_key(|(at, _, _)| *at)?;
    let message = line.get(at + mark.len()..)?;
    Some(Raw {
        place: parse_place(line.get(..at)?),
        note,
        warning: mark == ": warning: ",
        message,
    })
}

fn parse_place(text: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = text.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some((file, line.parse().ok()?, column.parse().ok()?))
}

/// Most bytes of a file whose lines are shown.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a line of a file; the main source is at hand, headers are read, if they lie in one of the folders.
pub(crate) fn source_line(
    place: &Place,
    main: (&Path, &str),
    within: Option<&[PathBuf]>,
) -> Option<String> {
    let index = (place.line as usize).checked_sub(1)?;
    let pick = |text: &str| text.lines().nth(index).map(str::to_owned);
    if place.file == main.0 {
        return pick(main.1);
    }
    pick(&text_of_file(&place.file, within)?)
}

/// The text of a plain file of bounded size in one of the folders. Its name may come from a stranger's line marker.
pub(crate) fn text_of_file(file: &Path, within: Option<&[PathBuf]>) -> Option<String> {
    let folders = match within {
        Some(folders) => Folders::new(folders),
        None => Folders::new(["/"]),
    };
    let bytes = folders.read(file, MOST_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_output_are_read_whatever_the_file_is_called() {
        let parsed = parse(
            "C:\\a b.metal:3:14: error: no member named 'q' in 'S'\nIn file included from x:1:\nx.h:1:2: note: declared here\nclang: error: no input files\n",
        );
        assert_eq!(
            parsed,
            [
                Raw {
                    place: Some(("C:\\a b.metal", 3, 14)),
                    note: false,
                    warning: false,
                    message: "no member named 'q' in 'S'"
                },
                Raw {
                    place: Some(("x.h", 1, 2)),
                    note: true,
                    warning: false,
                    message: "declared here"
                },
                Raw {
                    place: None,
                    note: false,
                    warning: false,
                    message: "no input files"
                },
            ]
        );
    }
}

//! What is known about a version of a document.

use crate::declarations::Declaration;
use crate::report::KernelReport;
use crate::text::Edited;
use assay_msl::{Diagnostic, Place};
use lsp_types::DiagnosticSeverity;
use std::path::Path;

/// What is known about a document. It is made for one version; [`Analysis::shift`] lets it follow changes until there is a
/// newer one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysis {
    /// The version it was made for.
    pub version: i32,
    /// Errors and warnings of compiling and checking.
    pub problems: Vec<Problem>,
    /// Kernels with their reports, as far as they are made.
    pub kernels: Vec<KernelReport>,
    /// Kernels that were compiled but not yet looked at.
    pub waiting: Vec<String>,
    /// Kernels that will not be looked at unless they come on the screen: there are too many.
    pub left: Vec<String>,
    /// Kernels that have a launch.
    pub launched: Vec<String>,
    /// Where kernels are declared.
    pub declarations: Vec<Declaration>,
}

/// Something wrong in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad.
    pub severity: DiagnosticSeverity,
    /// What.
    pub message: String,
    /// The line from 0; none if it is in another file or nowhere.
    pub line: Option<u32>,
    /// The byte of the line, if known.
    pub byte: Option<usize>,
    /// The other file and its line, for an error in a header.
    pub elsewhere: Option<(String, u32)>,
    /// What finds such problems: `clang`, or `check` for a run.
    pub source: &'static str,
    /// The kind of a finding, for its code.
    pub code: Option<String>,
    /// What explains it.
    pub notes: Vec<ProblemNote>,
}

impl Problem {
    /// A problem without a place.
    pub fn anywhere(message: String) -> Problem {
        Problem {
            severity: DiagnosticSeverity::ERROR,
            message,
            line: None,
            byte: None,
            elsewhere: None,
            source: "assay",
            code: None,
            notes: Vec::new(),
        }
    }

    /// An error of the compiler.
    pub fn of(error: &Diagnostic, main: &Path) -> Problem {
        let own = |place: &&Place| place.file == main;
        let here = error.place.as_ref().filter(own);
        let elsewhere = error.place.as_ref().filter(|place| place.file != main);
        let notes = error.notes.iter().map(|note| ProblemNote {
            message: note.message.clone(),
            line: note
                .place
                .as_ref()
                .filter(own)
                .and_then(|place| place.line.checked_sub(1)),
        });
        Problem {
            line: here.and_then(|place| place.line.checked_sub(1)),
            byte: here.and_then(|place| (place.column as usize).checked_sub(1)),
            elsewhere: elsewhere.map(|place| {
                (
                    place.file.display().to_string(),
                    place.line.saturating_sub(1),
                )
            }),
            source: "clang",
            notes: notes.collect(),
            ..Problem::anywhere(error.message.clone())
        }
    }
}

/// Something that explains a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemNote {
    /// What it says.
    pub message: String,
    /// The line from 0 in this file, if it is about one.
    pub line: Option<u32>,
}

impl Analysis {
    /// The report of a kernel.
    pub fn kernel(&self, name: &str) -> Option<&KernelReport> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The declaration of a kernel.
    pub fn declaration(&self, name: &str) -> Option<&Declaration> {
        self.declarations.iter().find(|one| one.name == name)
    }

    /// The kernel that a line belongs to: one with code there, or the one declared last before it.
    pub fn kernel_at(&self, line: u32) -> Option<&str> {
        let with_code = self
            .kernels
            .iter()
            .find(|kernel| kernel.line(line).is_some());
        if let Some(kernel) = with_code {
            return Some(&kernel.name);
        }
        let before = self.declarations.iter().rev().find(|one| one.line <= line);
        before.map(|one| one.name.as_str())
    }

    /// Follows a change of the text: what is about changed lines goes, what is below moves.
    pub fn shift(&mut self, edited: Edited) {
        let moved = |line: u32| -> Option<u32> {
            if line < edited.first {
                Some(line)
            } else if line <= edited.last_before {
                None
            } else {
                let distance = line - edited.last_before;
                edited.last_after.checked_add(distance)
            }
        };
        // An edit within one line leaves the line where it is.
        let kept = |line: u32| moved(line).or((line == edited.first).then_some(line));
        self.problems.retain_mut(|problem| match problem.line {
            Some(line) => {
                problem.line = kept(line);
                problem.line.is_some()
            }
            None => true,
        });
        for kernel in &mut self.kernels {
            kernel.findings.retain_mut(|finding| match finding.line {
                Some(line) => {
                    finding.line = moved(line);
                    finding.line.is_some()
                }
                None => true,
            });
            kernel.lines.retain_mut(|report| match moved(report.line) {
                Some(line) => {
                    report.line = line;
                    true
                }
                None => false,
            });
        }
        self.declarations.retain_mut(|one| match kept(one.line) {
            Some(line) => {
                one.line = line;
                true
            }
            None => false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::LineReport;

    fn analysis(lines: &[u32]) -> Analysis {
        let lines = lines.iter().map(|&line| LineReport {
            line,
            ..LineReport::default()
        });
        let kernel = KernelReport {
            name: "k".to_owned(),
            lines: lines.collect(),
            ..KernelReport::default()
        };
        Analysis {
            kernels: vec![kernel],
            ..Analysis::default()
        }
    }

    fn lines(analysis: &Analysis) -> Vec<u32> {
        analysis.kernels[0]
            .lines
            .iter()
            .map(|one| one.line)
            .collect()
    }

    #[test]
    fn what_is_below_a_change_moves_with_it() {
        let mut known = analysis(&[1, 4, 9]);
        known.shift(Edited {
            first: 3,
            last_before: 4,
            last_after: 6,
        });
        assert_eq!(lines(&known), [1, 11]);
        known.shift(Edited {
            first: 0,
            last_before: 5,
            last_after: 0,
        });
        assert_eq!(lines(&known), [6]);
        assert_eq!(known.kernel_at(6), Some("k"));
        assert_eq!(known.kernel_at(7), None);
    }
}

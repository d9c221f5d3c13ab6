//! Files of measured constants: the rows of `chip`'s `model.tsv`, for one chip.

use crate::constants::Constants;
use assay_chip::{Chip, Parameter};
use std::fmt::Write as _;

/// Constants and figures that were measured on one chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChipFile {
    /// The chip's name.
    pub chip: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A measured constant of the model, or a figure of the chip.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Where it lies, by the spread of the measurements.
    pub range: (f64, f64),
    /// How it is known: `measured`, or `derived`.
    pub basis: String,
    /// Machine, date, protocol.
    pub note: String,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// A row has another number of columns.
    #[error("line {line} has {found} columns, not 8")]
    Columns {
        /// Where.
        line: usize,
        /// How many.
        found: usize,
    },
    /// A value that is no number above 0.
    #[error("line {line}: `{text}` is no number above 0")]
    Number {
        /// Where.
        line: usize,
        /// What is there.
        text: String,
    },
    /// A name that is neither a constant nor a figure.
    #[error("line {line}: there is no constant and no figure named `{name}`")]
    Name {
        /// Where.
        line: usize,
        /// What is there.
        name: String,
    },
    /// A chip that is not known, or rows for two chips.
    #[error("line {line}: `{scope}` is not the one chip that this file is about")]
    Scope {
        /// Where.
        line: usize,
        /// What is there.
        scope: String,
    },
    /// No rows.
    #[error("it has no rows")]
    Empty,
}

const HEADER: &str = "scope\tname\tvalue\tlow\thigh\tbasis\tsource\tnote";

/// Rows that are read at most.
const MOST_ROWS: usize = 1000;

impl ChipFile {
    /// Reads a file.
    ///
    /// ```
    /// use assay_predict::calibrate::ChipFile;
    /// let text = "m2\tl2_latency\t118\t115\t121\tmeasured\tthis-machine\t3 March, best of 9\n";
    /// let file = ChipFile::parse(text)?;
    /// assert_eq!((file.chip.as_str(), file.rows[0].value), ("m2", 118.0));
    /// assert!(ChipFile::parse("m2\tspeed\t1\t1\t1\tmeasured\tthis-machine\tfast\n").is_err());
    /// # Ok::<(), assay_predict::calibrate::FileError>(())
    /// ```
    pub fn parse(text: &str) -> Result<ChipFile, FileError> {
        let mut file = ChipFile::default();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim_end();
            if content.is_empty() || content.starts_with('#') || content == HEADER {
                continue;
            }
            let columns: Vec<&str> = content.split('\t').collect();
            let [scope, name, value, low, high, basis, _, note] = columns.as_slice() else {
                return Err(FileError::Columns {
                    line,
                    found: columns.len(),
                });
            };
            let known = Chip::named(scope).is_ok_and(|chip| chip.name == *scope);
            if !known || (!file.chip.is_empty() && file.chip != *scope) {
                return Err(FileError::Scope {
                    line,
                    scope: (*scope).to_owned(),
                });
            }
            if !Constants::NAMES.contains(name) && Parameter::named(name).is_err() {
                return Err(FileError::Name {
                    line,
                    name: (*name).to_owned(),
                });
            }
            (*scope).clone_into(&mut file.chip);
            if file.rows.len() < MOST_ROWS {
                file.rows.push(Row {
                    name: (*name).to_owned(),
                    value: number(line, value)?,
                    range: (number(line, low)?, number(line, high)?),
                    basis: (*basis).to_owned(),
                    note: (*note).to_owned(),
                });
            }
        }
        if file.rows.is_empty() {
            return Err(FileError::Empty);
        }
        Ok(file)
    }

    /// The text of the file; `heading` is said at its top.
    pub fn to_text(&self, heading: &str) -> String {
        let mut out = String::new();
        for line in heading.lines() {
            let _ = writeln!(out, "# {line}");
        }
        let _ = writeln!(out, "{HEADER}");
        for row in &self.rows {
            let note = row.note.replace(['\t', '\n'], " ");
            let _ = writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}\tthis-machine\t{note}",
                self.chip,
                row.name,
                short(row.value),
                short(row.range.0),
                short(row.range.1),
                row.basis
            );
        }
        out
    }

    /// Puts the measured values in place of those of the tables.
    pub fn apply(&self, chip: &mut Chip, constants: &mut Constants) {
        for row in &self.rows {
            if !constants.set(&row.name, row.value)
                && let Ok(parameter) = Parameter::named(&row.name)
            {
                chip.set(parameter, row.value);
            }
        }
    }
}

/// Five significant digits.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = (4 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn number(line: usize, text: &str) -> Result<f64, FileError> {
    let value: Option<f64> = text.trim().parse().ok();
    let sound = value.filter(|value| *value > 0.0 && value.is_finite());
    sound.ok_or_else(|| FileError::Number {
        line,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_survives_being_written_and_changes_what_it_names() {
        let row = |name: &str, value: f64| Row {
            name: name.to_owned(),
            value,
            range: (value, value),
            basis: "measured".to_owned(),
            note: "best of 9".to_owned(),
        };
        let file = ChipFile {
            chip: "m2".to_owned(),
            rows: vec![row("l1_latency", 71.25), row("cores", 8.0)],
        };
        let text = file.to_text("Measured here.");
        assert!(text.starts_with("# Measured here.\nscope\t"));
        assert_eq!(ChipFile::parse(&text), Ok(file.clone()));
        let mut chip = Chip::named("m2").expect("a chip");
        let mut constants = Constants::of(&chip);
        file.apply(&mut chip, &mut constants);
        assert_eq!(constants.l1_latency, 71.25);
        assert_eq!(chip.get(Parameter::Cores), Some(8.0));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let refused = |text: &str| ChipFile::parse(text).expect_err("refused").to_string();
        assert!(refused("").contains("no rows"));
        assert!(refused("m2\tl1_latency\t3\n").contains("3 columns"));
        let row = "m9\tl1_latency\t3\t3\t3\tmeasured\tx\ty";
        assert!(refused(row).contains("`m9`"));
        let row = "m2\tl1_latency\t-3\t3\t3\tmeasured\tx\ty";
        assert!(refused(row).contains("`-3`"));
        let two =
            "m2\tl1_latency\t3\t3\t3\tmeasured\tx\ty\nm1\tl1_latency\t3\t3\t3\tmeasured\tx\ty";
        assert!(refused(two).contains("line 2"));
    }
}

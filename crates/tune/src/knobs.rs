//! Knobs of a kernel: parameters that its author left open, and how a value reaches the program.
//!
//! A source declares them in comments, a command line or a kernel's description in the same words:
//!
//! ```text
//! // assay: tune TM = 1,2,4
//! // assay: tune restrict TM * TN <= 16
//! ```
//!
//! A knob is a function constant if the kernel has one of that name, otherwise a macro. Formulas of the launch may use its
//! name, so geometry follows. A macro that the source defines is given its value where it is defined, others on the
//! compiler's command line.

use crate::space::{Error, Knob, Space};
use assay_launch::Formula;

/// What starts a comment about knobs.
const COMMENT: &str = "// assay: tune ";
/// What starts a restriction.
const RESTRICT: &str = "restrict ";

/// Knobs with their restrictions.
#[derive(Clone, Debug, Default)]
pub struct Knobs {
    /// The knobs.
    pub knobs: Vec<Knob>,
    /// What every configuration satisfies.
    pub restrictions: Vec<Formula>,
}

/// A declaration that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\": {why}")]
pub struct Unreadable {
    /// As it was written.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl Knobs {
    /// The knobs that comments of a source declare.
    ///
    /// ```
    /// use assay_tune::knobs::Knobs;
    /// let knobs = Knobs::of_source("// assay: tune TM = 1, 2,4\n// assay: tune restrict TM < 4\nkernel void k() {}\n")?;
    /// assert_eq!(knobs.knobs[0].values.len(), 3);
    /// assert_eq!(knobs.space()?.map(|space| space.len()), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_source(text: &str) -> Result<Knobs, Unreadable> {
        let mut knobs = Knobs::default();
        for line in text.lines() {
            if let Some(words) = line.trim_start().strip_prefix(COMMENT) {
                knobs.declare(words)?;
            }
        }
        Ok(knobs)
    }

    /// Adds what a declaration says: `TM = 1,2,4` or `restrict TM <= 2`. A knob that is known gets the new values.
    pub fn declare(&mut self, text: &str) -> Result<(), Unreadable> {
        let text = text.trim();
        match text.strip_prefix(RESTRICT) {
            Some(formula) => self.restrict(formula),
            None => self.add(text),
        }
    }

    /// Adds a restriction.
    pub fn restrict(&mut self, text: &str) -> Result<(), Unreadable> {
        let formula = Formula::parse(text.trim()).map_err(|error| Unreadable {
            text: text.trim().to_owned(),
            why: error.to_string(),
        })?;
        self.restrictions.push(formula);
        Ok(())
    }

    /// Adds a knob: `TM = 1,2,4`.
    pub fn add(&mut self, text: &str) -> Result<(), Unreadable> {
        let fail = |why: &str| Unreadable {
            text: text.to_owned(),
            why: why.to_owned(),
        };
        let (name, values) = text
            .split_once('=')
            .ok_or_else(|| fail("write NAME = VALUE,VALUE…"))?;
        let name = name.trim();
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts || !name.chars().all(is_word) {
            return Err(fail("a knob's name is letters, digits and _"));
        }
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        if values.iter().any(|value| value.is_empty()) {
            return Err(fail("a value is missing between commas"));
        }
        let knob = Knob::new(name, values);
        match self.knobs.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = knob,
            None => self.knobs.push(knob),
        }
        Ok(())
    }

    /// Their valid configurations; none without knobs.
    pub fn space(&self) -> Result<Option<Space>, Error> {
        if self.knobs.is_empty() {
            return Ok(None);
        }
        Space::new(self.knobs.clone(), &self.restrictions).map(Some)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The value that a source defines a macro with: byte range and text.
fn definition(text: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let rest = trimmed.strip_prefix('#').map(str::trim_start);
        let rest = rest.and_then(|rest| rest.strip_prefix("define"));
        let rest = rest.filter(|rest| rest.starts_with([' ', '\t']));
        let value = rest.and_then(|rest| rest.trim_start().strip_prefix(name));
        // A macro with parameters, or one whose name only starts alike, is another.
        if let Some(value) = value.filter(|value| value.starts_with([' ', '\t'])) {
            let value = value.split("//").next().unwrap_or_default();
            let from = start + (value.as_ptr() as usize - line.as_ptr() as usize);
            let from = from + (value.len() - value.trim_start().len());
            let range = from..from + value.trim().len();
            return Some(range).filter(|range| !range.is_empty());
        }
        start += line.len();
    }
    None
}

/// The value that a source itself gives a macro.
pub fn defined<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.get(definition(text, name)?)
}

/// The source with another value for a macro that it defines.
///
/// ```
/// use assay_tune::knobs::with_value;
/// let text = "#define TM 4  // results a thread\nint x = TM;\n";
/// assert_eq!(with_value(text, "TM", "8").as_deref(), Some("#define TM 8  // results a thread\nint x = TM;\n"));
/// assert_eq!(with_value(text, "T", "8"), None);
/// ```
pub fn with_value(text: &str, name: &str, value: &str) -> Option<String> {
    let mut changed = text.to_owned();
    changed.replace_range(definition(text, name)?, value);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_that_cannot_be_read_say_why() {
        let why = |text: &str| Knobs::default().declare(text).unwrap_err().to_string();
        assert_eq!(why("TM 1,2"), "\"TM 1,2\": write NAME = VALUE,VALUE…");
        assert_eq!(
            why("TM = 1,,2"),
            "\"TM = 1,,2\": a value is missing between commas"
        );
        assert_eq!(
            why("2T = 1"),
            "\"2T = 1\": a knob's name is letters, digits and _"
        );
        assert!(why("restrict TM <").starts_with("\"TM <\": "));
    }

    #[test]
    fn the_last_declaration_of_a_knob_counts() {
        let mut knobs = Knobs::of_source("// assay: tune T = 1,2\n").unwrap();
        knobs.declare("T = 8").unwrap();
        assert_eq!(knobs.knobs.len(), 1);
        assert_eq!(knobs.knobs[0].values[0].text, "8");
    }

    #[test]
    fn a_macro_is_found_where_it_is_defined() {
        let text =
            "#ifndef TM\n#  define TM 4\n#endif\n#define TM_MAX 9\n#define F(x) x\n#define EMPTY\n";
        assert_eq!(defined(text, "TM"), Some("4"));
        assert_eq!(defined(text, "TM_MAX"), Some("9"));
        assert_eq!(defined(text, "F"), None);
        assert_eq!(defined(text, "EMPTY"), None);
    }
}

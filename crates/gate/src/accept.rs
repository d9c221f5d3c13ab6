//! Changes that are meant to be, each named by what the kernel became.

use crate::config::{OneOrMany, matches};
use crate::figure::known;
use serde::Deserialize;

/// A change that is meant to be. It holds for the kernel as it was when it was accepted: `change` names its code, and the
/// next change of the code is none that was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The kernel, as a glob.
    pub function: String,
    /// Figures by name, `result` or `check`.
    pub what: Vec<String>,
    /// The hash of what the kernel became, as the report tells it; several where several kernels are meant.
    #[serde(default)]
    pub change: Option<OneOrMany>,
    /// Why, for whoever reads the report.
    pub reason: String,
}

impl Accept {
    /// Checks its names.
    pub(crate) fn check(&self) -> Result<(), String> {
        let figures = self
            .what
            .iter()
            .filter(|name| !OTHER.contains(&name.as_str()));
        for name in figures {
            known("accept", name)?;
        }
        match self.change {
            Some(_) => Ok(()),
            None => Err(format!(
                "accept of {}: `change` is missing: the report of the change says its hash, and what is accepted is that \
                 change alone",
                self.function
            )),
        }
    }

    /// Returns true if it is about this of a kernel, whatever the kernel has become.
    pub(crate) fn is_about(&self, function: &str, what: &str) -> bool {
        matches(&self.function, function) && self.what.iter().any(|one| one == what)
    }

    /// Returns true if it names what a kernel has become.
    pub(crate) fn names(&self, content: &str) -> bool {
        let changes = self.change.iter().flat_map(OneOrMany::all);
        !content.is_empty() && changes.into_iter().any(|change| change == content)
    }
}

/// What is accepted besides figures.
const OTHER: [&str; 2] = ["result", "check"];

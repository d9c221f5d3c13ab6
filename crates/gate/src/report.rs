//! What the gate found: the document `assay.gate`.

use crate::snapshot::Place;
use serde::Serialize;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// What kernels were compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Against {
    /// Nothing: what is right and clean is known, what grew is not.
    #[default]
    Nothing,
    /// A file of the repository.
    Baseline {
        /// Its path.
        file: String,
    },
    /// A commit.
    Commit {
        /// As it was named.
        name: String,
        /// Its hash.
        commit: String,
        /// True for the merge base of that name and this tree's commit.
        merge_base: bool,
    },
}

impl std::fmt::Display for Against {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Against::Nothing => write!(f, "nothing"),
            Against::Baseline { file } => write!(f, "{file}"),
            Against::Commit {
                name,
                commit,
                merge_base,
            } => {
                let short = commit.get(..10).unwrap_or(commit);
                let what = if *merge_base { "merge base " } else { "" };
                write!(f, "{name} ({what}{short})")
            }
        }
    }
}

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The gate fails.
    Error,
    /// The gate passes.
    Warning,
}

impl Level {
    /// In a word, the same in every format.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
        }
    }
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Problem {
    /// The rule; `assay explain RULE` has its page.
    pub rule: &'static str,
    /// How much it matters.
    pub level: Level,
    /// The kernel; null for a file that does not compile.
    pub function: Option<String>,
    /// Where.
    pub place: Place,
    /// What, with numbers.
    pub message: String,
    /// What to do about it.
    pub advice: String,
}

/// What became of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// All figures and results are what they were.
    Same,
    /// A figure or a result is another.
    Changed,
    /// There was none before.
    New,
    /// There is none any more.
    Deleted,
    /// Its file did not compile before: there is nothing to compare with.
    BrokenBefore,
    /// It was compared with nothing.
    Alone,
}

impl Outcome {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Same => "same",
            Outcome::Changed => "changed",
            Outcome::New => "new",
            Outcome::Deleted => "deleted",
            Outcome::BrokenBefore => "did not compile before",
            Outcome::Alone => "not compared",
        }
    }
}

/// What a changed figure amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// As before, or within what is allowed.
    Fine,
    /// Better than before.
    Better,
    /// Worse than allowed.
    Worse,
    /// Worse than allowed, in a kernel that became faster.
    PaidFor,
    /// Worse than allowed, and it costs nothing: neither occupancy nor any predicted time is worse.
    Free,
    /// Worse than allowed, and meant to be.
    Accepted,
    /// Shown only.
    Shown,
}

impl Standing {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Fine | Standing::Shown => "",
            Standing::Better => "better",
            Standing::Worse => "worse",
            Standing::PaidFor => "pays for speed",
            Standing::Free => "costs nothing",
            Standing::Accepted => "accepted",
        }
    }
}

/// A figure before and after. All are modelled.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Difference {
    /// The figure.
    pub figure: &'static str,
    /// The chip, of predicted times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chip: Option<String>,
    /// The sizes, of predicted times of a launch that names some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<String>,
    /// Before; null if there was none.
    pub before: Option<f64>,
    /// After; null if there is none.
    pub after: Option<f64>,
    /// The ends of the band of what is after, of programs' times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<[f64; 2]>,
    /// Per cent by which it became worse that are allowed; null for a figure that is only shown.
    pub allowed: Option<f64>,
    /// What the change amounts to.
    pub standing: Standing,
}

impl Difference {
    /// The figure with its chip and sizes.
    pub fn title(&self) -> String {
        let mut title = self.figure.replace('_', " ");
        for part in [&self.chip, &self.sizes].into_iter().flatten() {
            title.push(' ');
            title += part;
        }
        title
    }

    /// Returns true if before and after are known and differ, or only one of them is known.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// The change in per cent of what was before.
    pub fn per_cent(&self) -> Option<f64> {
        let (before, after) = self.before.zip(self.after)?;
        (before != 0.0).then(|| (after - before) / before * 100.0)
    }
}

/// A kernel and what holds of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Verdict {
    /// Its file.
    pub file: String,
    /// Its name.
    pub function: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The file it was in before, if another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// The name it had before, if another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// True if nothing about it fails the gate.
    pub passed: bool,
    /// Its figures, before and after.
    pub differences: Vec<Difference>,
    /// What else to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Verdict {
    /// What it was before, in words, if that was another file or name.
    pub(crate) fn was(&self) -> Option<String> {
        match (&self.renamed_from, &self.moved_from) {
            (Some(name), Some(file)) => Some(format!("was {name} in {file}")),
            (Some(name), None) => Some(format!("was {name}")),
            (None, Some(file)) => Some(format!("was in {file}")),
            (None, None) => None,
        }
    }
}

/// A program and what holds of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ProgramVerdict {
    /// Its name.
    pub name: String,
    /// Its command line.
    pub run: String,
    /// What became of it.
    pub outcome: Outcome,
    /// True if nothing about it fails the gate.
    pub passed: bool,
    /// Its figures, before and after: GPU time by chip (modelled), dispatches, bytes, faults.
    pub differences: Vec<Difference>,
    /// What else to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Something that the configuration asks less than the base's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConfigurationChange {
    /// The part of the configuration, as `may_change` names it.
    pub part: &'static str,
    /// What it is, and what it was.
    pub what: String,
    /// True if it asks less.
    pub weakens: bool,
    /// True if the base's configuration lets a pull request do it.
    pub allowed: bool,
    /// Where.
    pub place: Place,
}

/// Kernels by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Summary {
    /// Kernels of this tree.
    pub kernels: usize,
    /// Those that fail the gate.
    pub failed: usize,
    /// Those that are as before.
    pub same: usize,
    /// Those that changed.
    pub changed: usize,
    /// Those that are new.
    pub new: usize,
    /// Those that are gone.
    pub deleted: usize,
    /// Files that do not compile.
    pub broken_files: usize,
    /// Programs that were run.
    #[serde(skip_serializing_if = "is_none")]
    pub programs: usize,
    /// Those that fail the gate.
    #[serde(skip_serializing_if = "is_none")]
    pub failed_programs: usize,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Report {
    /// True if the gate is open.
    pub passed: bool,
    /// What kernels were compared with.
    pub against: Against,
    /// Kernels by what became of them.
    pub summary: Summary,
    /// What does not hold, by place.
    pub problems: Vec<Problem>,
    /// How the configuration differs from the base's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub configuration: Vec<ConfigurationChange>,
    /// Every kernel.
    pub kernels: Vec<Verdict>,
    /// Every program that was run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramVerdict>,
    /// What to know about the whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

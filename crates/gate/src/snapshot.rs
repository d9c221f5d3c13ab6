//! What was found out about the kernels of one tree.
//!
//! Everything here is written and read again: it is kept between runs by the hash of what it depends on, so that a run
//! in which little changed costs little. Paths are relative to the folder of the configuration.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A place in a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 when it is not known.
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Something that did not work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failed {
    /// Why.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
}

/// A file whose kernels are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFailure {
    /// The file.
    pub file: String,
    /// What is wrong, the first error first.
    pub errors: Vec<Failed>,
}

/// A predicted time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Time {
    /// The chip.
    pub chip: String,
    /// The sizes; empty if the launch has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sizes: String,
    /// Microseconds.
    pub us: f64,
    /// Which of the kernel's launches.
    #[serde(default, skip_serializing_if = "is_first")]
    pub launch: u32,
}

/// What a run left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The sizes; empty if the launch has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sizes: String,
    /// Which of the kernel's launches.
    #[serde(default, skip_serializing_if = "is_first")]
    pub launch: u32,
    /// How the launch was varied; empty for the launch as it is written.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trial: String,
    /// Why the kernel is not made for this variation: it faults, or a checked run finds something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Failed>,
    /// What the oracle says is wrong with the results of this variation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wrong: String,
    /// A hash of what the kernel was given: results of other inputs are not compared.
    pub inputs: String,
    /// Hashes of what each argument was given, by name: where a kernel's arguments changed, those of both are compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub given: BTreeMap<String, String>,
    /// The buffers it wrote to.
    pub buffers: Vec<Contents>,
}

/// A buffer after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contents {
    /// Its index.
    pub index: u32,
    /// The argument's name.
    pub name: String,
    /// A hash of its bytes.
    pub hash: String,
}

/// Something a kernel must not do, by a checked run or an oracle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// What, such as `race`.
    pub kind: String,
    /// True for what did no harm with these inputs.
    pub warning: bool,
    /// In words.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
}

/// What a source line costs in one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineCost {
    /// The file.
    pub file: String,
    /// The line.
    pub line: u32,
    /// Instructions made from it.
    pub instructions: u32,
    /// Its predicted microseconds; 0 without a launch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub us: f64,
}

fn is_first(launch: &u32) -> bool {
    *launch == 0
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its file.
    pub file: String,
    /// Its name.
    pub function: String,
    /// The line it is declared at, where that was found.
    pub line: Option<u32>,
    /// A hash of its code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// Why there is no code for it, or why it did not run to its end.
    pub failures: Vec<Failed>,
    /// Why this device cannot run it, whatever it would compute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// Figures of its code by name.
    pub figures: BTreeMap<String, f64>,
    /// Predicted times.
    pub times: Vec<Time>,
    /// What runs computed.
    pub results: Vec<RunResult>,
    /// What was compared with an oracle: results need not be those of another commit.
    pub has_oracle: bool,
    /// Results that an oracle says are wrong.
    pub wrong: Vec<Found>,
    /// What checked runs found.
    pub findings: Vec<Found>,
    /// What its lines cost.
    pub costs: Vec<LineCost>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl RunResult {
    /// Returns true if it is the run that another tree's run is compared with.
    pub(crate) fn is_like(&self, other: &RunResult) -> bool {
        (self.launch, &self.trial, &self.sizes) == (other.launch, &other.trial, &other.sizes)
    }

    /// Returns true if both kernels were given the same; where their arguments differ, the same in those that both have.
    pub(crate) fn has_inputs_of(&self, other: &RunResult) -> bool {
        let mut common = self
            .given
            .iter()
            .filter_map(|(name, hash)| Some((hash, other.given.get(name)?)))
            .peekable();
        self.inputs == other.inputs || common.peek().is_some() && common.all(|(a, b)| a == b)
    }

    /// The variation and the sizes, in words.
    pub(crate) fn at(&self) -> String {
        let sizes = match self.sizes.as_str() {
            "" => String::new(),
            sizes => format!(" at {sizes}"),
        };
        match self.trial.as_str() {
            "" => sizes,
            trial => format!("{sizes} with {trial}"),
        }
    }
}

impl Contents {
    /// Returns true if it is the same argument of another run: by its name, or by its index where it has none.
    pub(crate) fn is_of(&self, other: &Contents) -> bool {
        match (self.name.as_str(), other.name.as_str()) {
            ("", _) | (_, "") => self.index == other.index,
            (name, other) => name == other,
        }
    }
}

impl Kernel {
    /// A kernel of which nothing is known yet.
    pub fn new(file: &str, function: &str) -> Kernel {
        Kernel {
            file: file.to_owned(),
            function: function.to_owned(),
            ..Kernel::default()
        }
    }

    /// Its declaration, or at least its file.
    pub(crate) fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            line: self.line.unwrap_or(1),
            column: 0,
        }
    }
}

/// All kernels of a tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Files whose kernels are not known, because they do not compile.
    pub failures: Vec<FileFailure>,
    /// Kernels, by file and in the order of their file.
    pub kernels: Vec<Kernel>,
}

impl Snapshot {
    /// A snapshot of some kernels.
    pub fn of(kernels: impl IntoIterator<Item = Kernel>) -> Snapshot {
        Snapshot {
            failures: Vec::new(),
            kernels: kernels.into_iter().collect(),
        }
    }
}

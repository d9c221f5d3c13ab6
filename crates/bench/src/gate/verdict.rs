//! What was found.

use super::compare::Comparison;
use crate::Dtype;
use crate::runner::Damage;
use assay_device::Report;
use std::fmt;

/// What an examination found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Where all random numbers came from.
    pub seed: u64,
    /// What is wrong; nothing, if the kernel is right.
    pub findings: Vec<Finding>,
    /// Every comparison that was made.
    pub tried: Vec<Tried>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// At which sizes.
    pub size_set: String,
    /// In which element type.
    pub dtype: Dtype,
    /// Of which output.
    pub output: String,
    /// How it went.
    pub comparison: Comparison,
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// At which sizes.
    pub size_set: String,
    /// In which element type.
    pub dtype: Dtype,
    /// With inputs of which seed.
    pub seed: u64,
    /// What.
    pub what: What,
}

/// Ways of being wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Elements that are not right.
    Wrong {
        /// The output.
        output: String,
        /// How it compares.
        comparison: Comparison,
    },
    /// Writes where none belong.
    Damage(Damage),
    /// The kernel did something it must not, or cannot be run as described.
    Failure(assay_device::Error),
    /// The same inputs gave other bytes.
    Unstable,
    /// Right when threadgroups run from the first to the last, wrong the other way round.
    Order,
    /// An input that matters was replaced, and the result stayed the same.
    Ignored {
        /// The input.
        input: String,
    },
    /// It did what kernels must not, whatever came of it: raced, read what nobody wrote, left a buffer.
    Misbehaved(Report),
    /// Results of timed runs are wrong, or were not the same each time.
    Timed(Option<String>),
    /// Right over fresh buffers, wrong over buffers that held the results of other inputs.
    Stale,
}

impl Verdict {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            findings: Vec::new(),
            tried: Vec::new(),
        }
    }

    /// Whether nothing was found.
    pub fn is_right(&self) -> bool {
        self.findings.is_empty()
    }

    /// The comparison whose errors are largest, relative to what went into the elements.
    pub fn worst(&self) -> Option<&Tried> {
        let relative = |tried: &&Tried| tried.comparison.max_relative;
        self.tried
            .iter()
            .max_by(|a, b| relative(a).total_cmp(&relative(b)))
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong { output, comparison } => write!(f, "\"{output}\": {comparison}"),
            Self::Damage(damage) => damage.fmt(f),
            Self::Failure(error) => error.fmt(f),
            Self::Unstable => f.write_str("the same inputs gave different results"),
            Self::Order => f.write_str(
                "wrong when threadgroups run from the last to the first: the result depends on their order, which Metal does not promise",
            ),
            Self::Ignored { input } => write!(
                f,
                "the input \"{input}\" was replaced, and the result stayed the same"
            ),
            Self::Misbehaved(report) => write!(f, "{}: {report}", report.kind.name()),
            Self::Timed(Some(wrong)) => write!(f, "while it was timed: {wrong}"),
            Self::Timed(None) => f.write_str("results changed while it was timed"),
            Self::Stale => {
                f.write_str("wrong when the output still holds the results of other inputs")
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            size_set,
            dtype,
            seed,
            what,
        } = self;
        write!(f, "{size_set} sizes, {dtype}, seed {seed}: {what}")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.findings.as_slice() {
            [] => write!(f, "right in {} comparisons", self.tried.len()),
            [first] => first.fmt(f),
            [first, rest @ ..] => write!(f, "{first} (and {} more)", rest.len()),
        }
    }
}

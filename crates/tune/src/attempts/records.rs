//! What is recorded about an attempt.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What makes a candidate of the original: values of knobs, then steps of recipes, in their text forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Genome {
    /// Names and values.
    pub knobs: Vec<(String, String)>,
    /// Steps: `coarsen:x=4,block`.
    pub steps: Vec<String>,
}

impl Genome {
    /// The same with one more step.
    pub fn then(&self, step: &str) -> Genome {
        let mut next = self.clone();
        next.steps.push(step.to_owned());
        next
    }

    /// Returns true if it is the original.
    pub fn is_original(&self) -> bool {
        self.knobs.is_empty() && self.steps.is_empty()
    }
}

impl fmt::Display for Genome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_original() {
            return f.write_str("the original");
        }
        let knobs = self
            .knobs
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let words: Vec<String> = knobs.chain(self.steps.iter().cloned()).collect();
        f.write_str(&words.join(" "))
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The word for it.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            /// What a word stands for.
            pub fn named(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.name() == word)
            }
        }
    };
}

words! {
    /// Which part of a session an attempt belongs to.
    Phase {
        /// The kernel as it was given.
        Original = "original",
        /// Values of the kernel's own knobs.
        Knobs = "knobs",
        /// Sequences of recipes.
        Recipes = "recipes",
        /// Parameters of the best sequences.
        Parameters = "parameters",
        /// Proposals of a language model.
        Model = "model",
    }
}

words! {
    /// Where an attempt failed.
    Stage {
        /// A source holds what no proposed kernel may: includes, pragmas, assembly.
        Filter = "filter",
        /// A recipe refused.
        Apply = "apply",
        /// The program cannot be printed as source.
        Print = "print",
        /// The source does not compile.
        Compile = "compile",
        /// A limit of the hardware or of the launch.
        Limits = "limits",
        /// The same program as another attempt's.
        Duplicate = "duplicate",
        /// The model has no time for it.
        Model = "model",
        /// It takes far longer than the best: given up before the sample was complete.
        Abandoned = "abandoned",
        /// Its results differ from the original's.
        Results = "results",
        /// It does what no kernel may: out of bounds, races, undefined values.
        Check = "check",
        /// The oracle disagrees.
        Oracle = "oracle",
    }
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Where.
    pub stage: Stage,
    /// Why, in a sentence.
    pub why: String,
}

impl Failure {
    /// A failure at a stage.
    pub fn new(stage: Stage, why: impl Into<String>) -> Failure {
        Failure {
            stage,
            why: why.into(),
        }
    }
}

/// How a candidate is dispatched, as formulas over the launch's sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Geometry {
    /// Threads of the grid along x, y, z; empty if it is given in threadgroups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grid: Vec<String>,
    /// Threadgroups of the grid, where it is given in those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Threads of a threadgroup.
    pub threadgroup: Vec<String>,
    /// Bytes of threadgroup memory by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threadgroup_memory: Vec<(u32, String)>,
    /// 32-bit numbers that recipes added to the arguments: index and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<(u32, String)>,
}

/// A predicted time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Microseconds.
    pub time_us: f64,
    /// Four of five kernels of the class lie between this and `high_us`.
    pub low_us: f64,
    /// See `low_us`.
    pub high_us: f64,
    /// The largest term.
    pub limited_by: String,
    /// Kernels whose predictions err alike.
    pub class: String,
    /// Where the time goes: name and microseconds.
    pub terms: Vec<(String, f64)>,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It has a predicted time.
    Timed(Prediction),
    /// It failed.
    Failed(Failure),
}

/// An attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its number in the session, from 0.
    pub ordinal: u32,
    /// The attempt it was made of.
    pub parent: Option<u32>,
    /// What it belongs to.
    pub phase: Phase,
    /// What it is.
    pub genome: Genome,
    /// The fingerprint of program and geometry.
    pub program: Option<String>,
    /// `E` or `R`.
    pub class: Option<String>,
    /// How it is dispatched.
    pub geometry: Option<Geometry>,
    /// Its source.
    pub source: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
}

impl Attempt {
    /// Its predicted time in microseconds.
    pub fn time(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Timed(prediction) => Some(prediction.time_us),
            Outcome::Failed(_) => None,
        }
    }
}

/// What was proven about an attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verified {
    /// Launches whose results were compared: `N = 64`.
    pub sizes: Vec<String>,
    /// Runs that were compared, each size with several inputs.
    pub comparisons: u32,
    /// Every compared byte was the same.
    pub identical: bool,
    /// Runs that were checked for out-of-bounds accesses, races and undefined values.
    pub checked: u32,
    /// The largest difference, relative to the largest magnitude of its buffer.
    pub largest_difference: f64,
    /// The original's largest error by the oracle, in units of what is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_before: Option<f64>,
    /// The candidate's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_after: Option<f64>,
    /// By how much results are larger than the original's on the whole, relative, where that is more than rounding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<f64>,
}

/// A time that a clock told.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The device.
    pub device: String,
    /// The median in microseconds.
    pub median_us: f64,
    /// Confidence interval of the ratio to the original.
    pub ratio: Option<(f64, f64)>,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The winner, if one attempt was better than the original.
    pub winner: Option<u32>,
    /// The winner is kept.
    pub kept: bool,
    /// Predicted gain.
    pub gain: f64,
    /// The gain that is claimed.
    pub claimed: f64,
    /// Why, in a sentence.
    pub reason: String,
}

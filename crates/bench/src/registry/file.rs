//! `kernel.toml` as it is written.

use crate::Dtype;
use crate::formula::Sizes;
use assay_launch::Values;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// What the kernel computes, in a line.
    pub(super) summary: String,
    /// What says what is right.
    pub(super) oracle: Oracle,
    /// Name in the source without the element type behind it; the folder's name if absent.
    pub(super) function: Option<String>,
    /// Element types there are variants for.
    #[serde(default = "single")]
    pub(super) dtypes: Vec<Dtype>,
    /// Sizes that follow from others, in order.
    #[serde(default)]
    pub(super) derived: Vec<(String, String)>,
    /// Size sets by name.
    pub(super) sizes: BTreeMap<String, Sizes>,
    pub(super) arguments: Vec<Argument>,
    /// Function constants.
    #[serde(default)]
    pub(super) constants: Vec<Constant>,
    pub(super) passes: Vec<Pass>,
    /// Knobs that whoever tunes the kernel may turn.
    #[serde(default)]
    pub(super) tune: Tune,
    pub(super) tolerance: BTreeMap<Dtype, Tolerance>,
    pub(super) cost: Cost,
}

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "an oracle is a name, { expression = \"y[i] = …\" }, { python = \"FILE.py\" } or { program = \"COMMAND\" }"
)]
pub(super) enum Oracle {
    /// A function of `oracle`.
    Named(String),
    Own(OwnOracle),
}

/// An oracle in the kernel's own folder.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OwnOracle {
    /// Definitions of the outputs.
    Expression(String),
    /// A file with a NumPy function.
    Python(String),
    /// Words for a shell that runs in the kernel's folder.
    Program(String),
}

fn single() -> Vec<Dtype> {
    vec![Dtype::F32]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    Input,
    Output,
    Scratch,
    Scalar,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) role: Role,
    /// The variant's element type if absent.
    pub(super) dtype: Option<Dtype>,
    #[serde(default)]
    pub(super) shape: Vec<String>,
    /// Of inputs: what the numbers are like.
    pub(super) values: Option<Values>,
    /// Of indices: all are below this.
    pub(super) below: Option<String>,
    /// Of numbers: a factor.
    pub(super) scale: Option<String>,
    /// Of inputs: numbers the kernel must also get right.
    #[serde(default)]
    pub(super) extremes: Vec<f64>,
    /// Of scalars.
    pub(super) value: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Constant {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) value: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pass {
    /// Name in the source without the element type; the kernel's if absent.
    pub(super) function: Option<String>,
    /// What is bound to 0, 1, 2, …: names of arguments, or `=FORMULA` for a 32-bit whole number. All arguments in order
    /// if absent.
    pub(super) arguments: Option<Vec<String>>,
    /// Threads of the grid, or
    pub(super) threads: Option<Vec<String>>,
    /// threadgroups of the grid.
    pub(super) groups: Option<Vec<String>>,
    pub(super) threadgroup: Vec<String>,
    /// Bytes of threadgroup memory 0, 1, 2, …
    #[serde(default)]
    pub(super) threadgroup_memory: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Tune {
    /// What every configuration satisfies.
    #[serde(default)]
    pub(super) restrict: Vec<String>,
    /// Knobs by name: the value the kernel has as it is, then the others.
    #[serde(flatten)]
    pub(super) knobs: BTreeMap<String, Vec<KnobValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum KnobValue {
    Number(u64),
    Flag(bool),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tolerance {
    pub(super) relative: f64,
    pub(super) absolute: f64,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    pub(super) flops: String,
    /// Inputs read once and outputs written once if absent.
    pub(super) bytes: Option<String>,
}

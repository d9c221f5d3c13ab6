//! The messages between us and a reference: one JSON object per line; `docs/references.md` describes them.

use super::Clock;
use crate::Dtype;
use crate::formula::Sizes;
use crate::oracle::Tensor;
use crate::registry::{Case, CaseArgument, CaseRole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of what follows.
pub(super) const VERSION: u32 = 1;

/// What a reference is asked.
#[derive(Debug, Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub(super) enum Request<'a> {
    Hello {
        protocol: u32,
    },
    Prepare(Box<Prepare<'a>>),
    Run {
        set: usize,
        times: usize,
    },
    Outputs {
        set: usize,
        files: &'a [PathBuf],
        /// Of oracles: where the scale of each output may be put.
        #[serde(skip_serializing_if = "<[PathBuf]>::is_empty")]
        scales: &'a [PathBuf],
    },
    Forget,
}

/// How floating-point numbers travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    /// In the types of the arguments: what a reference computes with.
    Own,
    /// In double precision: what an oracle computes with.
    Double,
}

impl Precision {
    fn is_double(self, dtype: Dtype) -> bool {
        self == Self::Double && dtype.is_float()
    }

    fn name(self, dtype: Dtype) -> &'static str {
        match self.is_double(dtype) {
            true => "f64",
            false => dtype.name(),
        }
    }

    fn encode(self, dtype: Dtype, values: &[f64]) -> Vec<u8> {
        match self.is_double(dtype) {
            true => values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
            false => dtype.encode(values),
        }
    }

    /// Bytes of an element.
    pub(super) fn size(self, dtype: Dtype) -> usize {
        match self.is_double(dtype) {
            true => 8,
            false => dtype.size(),
        }
    }

    pub(super) fn decode(self, dtype: Dtype, bytes: &[u8]) -> Vec<f64> {
        match self.is_double(dtype) {
            true => {
                let (numbers, _) = bytes.as_chunks();
                numbers.iter().map(|one| f64::from_le_bytes(*one)).collect()
            }
            false => dtype.decode(bytes),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Prepare<'a> {
    set: usize,
    kernel: &'a str,
    operation: &'a str,
    dtype: &'static str,
    sizes: &'a Sizes,
    scalars: BTreeMap<&'a str, serde_json::Value>,
    arguments: Vec<Argument<'a>>,
}

#[derive(Debug, Serialize)]
struct Argument<'a> {
    name: &'a str,
    role: &'static str,
    dtype: &'static str,
    shape: &'a [usize],
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

/// What it answers.
#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) ok: bool,
    #[serde(default)]
    pub(super) unsupported: bool,
    pub(super) why: Option<String>,
    pub(super) protocol: Option<u32>,
    pub(super) name: Option<String>,
    pub(super) clock: Option<Clock>,
    pub(super) seconds: Option<f64>,
}

impl<'a> Prepare<'a> {
    /// The message for a case, and the files its inputs belong into, with their bytes.
    pub(super) fn new(
        set: usize,
        case: &'a Case,
        inputs: &[Tensor],
        folder: &Path,
        precision: Precision,
    ) -> (Self, Vec<(PathBuf, Vec<u8>)>) {
        let mut inputs = inputs.iter();
        let mut files = Vec::new();
        let mut arguments = Vec::new();
        let mut scalars = BTreeMap::new();
        for argument in &case.arguments {
            let CaseArgument { name, dtype, role } = argument;
            let (role, shape) = match role {
                CaseRole::Input { shape, .. } => ("input", shape),
                CaseRole::Output { shape } => ("output", shape),
                CaseRole::Scalar { value } => {
                    let number = match dtype.is_float() {
                        true => serde_json::Value::from(*value),
                        false => serde_json::Value::from(*value as i64),
                    };
                    scalars.insert(name.as_str(), number);
                    continue;
                }
                CaseRole::Scratch { .. } => continue,
            };
            let file = match role {
                "input" => inputs.next().map(|tensor| {
                    let path = folder.join(format!("{set}-{}", arguments.len()));
                    files.push((path.clone(), precision.encode(*dtype, &tensor.values)));
                    path
                }),
                _ => None,
            };
            arguments.push(Argument {
                name,
                role,
                dtype: precision.name(*dtype),
                shape,
                file,
            });
        }
        let message = Self {
            set,
            kernel: &case.kernel,
            operation: case.oracle.operation(&case.kernel),
            dtype: precision.name(case.dtype),
            sizes: &case.sizes,
            scalars,
            arguments,
        };
        (message, files)
    }
}

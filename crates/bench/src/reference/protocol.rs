//! The messages between us and a reference: one JSON object per line; `docs/references.md` describes them.

use super::Clock;
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
    Hello { protocol: u32 },
    Prepare(Box<Prepare<'a>>),
    Run { set: usize, times: usize },
    Outputs { set: usize, files: &'a [PathBuf] },
    Forget,
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
                    files.push((path.clone(), dtype.encode(&tensor.values)));
                    path
                }),
                _ => None,
            };
            arguments.push(Argument {
                name,
                role,
                dtype: dtype.name(),
                shape,
                file,
            });
        }
        let message = Self {
            set,
            kernel: &case.kernel,
            operation: &case.oracle,
            dtype: case.dtype.name(),
            sizes: &case.sizes,
            scalars,
            arguments,
        };
        (message, files)
    }
}

//! Figures kept in the repository: the file that `assay gate --update` writes.
//!
//! It holds what is compared and nothing else, a kernel a line, in order, so that a pull request that changes one kernel
//! changes one line and two of them merge.

use crate::snapshot::{Kernel, RunResult, Snapshot, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the file's form.
const SCHEMA: &str = "assay.gate-baseline";
const VERSION: u32 = 1;

/// Stored figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Name and version of this form.
    schema: Schema,
    /// By file and name.
    kernels: Vec<Row>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Schema {
    name: String,
    version: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Row {
    /// The path, from the folder of `assay.toml`.
    file: String,
    /// The kernel.
    function: String,
    /// Figures of its code, by name (modelled).
    figures: BTreeMap<String, f64>,
    /// Predicted times.
    #[serde(default)]
    times: Vec<Time>,
    /// What it computed, as hashes; empty where an oracle says what is right.
    #[serde(default)]
    results: Vec<RunResult>,
}

/// Why a file is no baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// No JSON of this form.
    #[error("{0}")]
    Form(String),
    /// Another document.
    #[error("it is {name} version {version}, not {SCHEMA} version {VERSION}")]
    Schema {
        /// Its name.
        name: String,
        /// Its version.
        version: u32,
    },
}

impl Baseline {
    /// What is worth keeping of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Baseline {
        let rows = snapshot.kernels.iter().map(|kernel| Row {
            file: kernel.file.clone(),
            function: kernel.function.clone(),
            figures: kernel.figures.clone(),
            times: kernel.times.clone(),
            results: match kernel.has_oracle {
                // Whether these are right, the oracle says.
                true => Vec::new(),
                // Hashes of single arguments are for kernels whose arguments change within a commit.
                false => {
                    let results = kernel.results.iter().map(|result| RunResult {
                        given: BTreeMap::new(),
                        ..result.clone()
                    });
                    results.collect()
                }
            },
        });
        let mut kernels: Vec<Row> = rows.collect();
        kernels.sort_by(|a, b| (&a.file, &a.function).cmp(&(&b.file, &b.function)));
        Baseline {
            schema: Schema {
                name: SCHEMA.to_owned(),
                version: VERSION,
            },
            kernels,
        }
    }

    /// Reads a stored file.
    pub fn parse(bytes: &[u8]) -> Result<Baseline, BaselineError> {
        let wrong = |error: serde_json::Error| BaselineError::Form(error.to_string());
        let baseline: Baseline = serde_json::from_slice(bytes).map_err(wrong)?;
        let Schema { name, version } = &baseline.schema;
        if name != SCHEMA || *version != VERSION {
            return Err(BaselineError::Schema {
                name: name.clone(),
                version: *version,
            });
        }
        Ok(baseline)
    }

    /// The file: a kernel a line.
    pub fn to_json(&self) -> String {
        // Plain data with texts as keys cannot fail to serialise.
        let line = |row: &Row| serde_json::to_string(row).unwrap_or_default();
        let rows: Vec<String> = self.kernels.iter().map(line).collect();
        format!(
            "{{\n\"schema\": {{\"name\": \"{SCHEMA}\", \"version\": {VERSION}}},\n\"kernels\": [\n{}\n]\n}}\n",
            rows.join(",\n")
        )
    }

    /// Kernels as they were.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.kernels.iter().map(|row| Kernel {
            figures: row.figures.clone(),
            times: row.times.clone(),
            results: row.results.clone(),
            ..Kernel::new(&row.file, &row.function)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_read_as_it_was_written_and_has_a_line_a_kernel() {
        let kernel = |file: &str| Kernel {
            figures: [("registers".to_owned(), 16.0)].into(),
            times: vec![Time {
                chip: "m2".to_owned(),
                sizes: String::new(),
                us: 1.5,
                launch: 0,
            }],
            ..Kernel::new(file, "k")
        };
        let baseline = Baseline::new(&Snapshot::of([kernel("b.metal"), kernel("a.metal")]));
        let text = baseline.to_json();
        assert_eq!(text.lines().count(), 7, "{text}");
        assert_eq!(Baseline::parse(text.as_bytes()).unwrap(), baseline);
        assert_eq!(baseline.snapshot().kernels[0], kernel("a.metal"));
        let other = text.replace("gate-baseline", "gate");
        let error = Baseline::parse(other.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("it is assay.gate version 1"), "{error}");
        assert!(Baseline::parse(b"[]").is_err());
    }
}

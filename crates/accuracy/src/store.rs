//! Executions as stored: our own numbers, from which every table is made again.

use crate::case::{Case, Set};
use crate::{Error, Result};
use assay_predict::Execution;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::path::Path;

/// A case as executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stored {
    /// As in [`Case`].
    pub id: String,
    /// Its set.
    pub set: Set,
    /// Candidates for ranking.
    pub group: String,
    /// Relatives that stay in one fold.
    pub family: String,
    /// Measured time in microseconds.
    pub measured_us: f64,
    /// Operations and bytes as the publisher counts them, for the roofline.
    pub work: Option<(f64, f64)>,
    /// Rounds of the command buffer.
    pub repeat: u32,
    /// Dispatches of one round.
    pub executions: Vec<Execution>,
}

/// All stored cases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Store {
    /// By id.
    pub cases: Vec<Stored>,
}

impl Stored {
    pub(crate) fn new(case: &Case, executions: Vec<Execution>) -> Stored {
        Stored {
            id: case.id.clone(),
            set: case.set,
            group: case.group.clone(),
            family: case.family.clone(),
            measured_us: case.measured_us,
            work: case.work,
            repeat: case.repeat,
            executions,
        }
    }

    /// Name within the set.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(_, name)| name)
    }

    /// Borders between the dispatches of the command buffer.
    pub(crate) fn gaps(&self) -> f64 {
        (self.executions.len() as f64 * f64::from(self.repeat.max(1)) - 1.0).max(0.0)
    }

    /// Returns true if any dispatch multiplies 8×8 matrices.
    pub fn has_matrices(&self) -> bool {
        let mut runs = self.executions.iter().flat_map(|execution| &execution.runs);
        runs.any(|run| run.matrices32 + run.matrices16 > 0)
    }

    /// Returns true if no dispatch has more than one threadgroup.
    pub fn single_threadgroup(&self) -> bool {
        let mut groups = self.executions.iter().map(Execution::threadgroups);
        groups.all(|count| count == 1)
    }
}

impl Store {
    /// Reads a compressed file.
    pub fn read(path: &Path) -> Result<Store> {
        let fail = |error: String| Error::from(format!("{}: {error}", path.display()));
        let bytes = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
        Store::from_bytes(&bytes).map_err(|error| fail(error.to_string()))
    }

    /// Reads compressed bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Store> {
        let mut text = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Writes a compressed file.
    pub fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&serde_json::to_vec(self)?)?;
        let part = path.with_extension("part");
        std::fs::write(&part, encoder.finish()?)?;
        std::fs::rename(&part, path)?;
        Ok(())
    }

    /// The cases of a set.
    pub fn of(&self, set: Set) -> Vec<&Stored> {
        self.cases.iter().filter(|case| case.set == set).collect()
    }
}

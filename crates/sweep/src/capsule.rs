//! Runs measured for somebody elsewhere: in a file, on their way to that one's board.
//!
//! A worker of a fleet has no board. Its process is given a folder (`--board capsule:FOLDER`) with the holders of records to
//! race against, and leaves verified runs there.

use crate::Failure;
use assay_board::{Held, Holder, Outcome, Place, Wire};
use std::io::Write;
use std::path::PathBuf;

/// The file with holders of records, as a JSON array.
pub const HOLDERS: &str = "holders.json";
/// The file with verified runs, one document per line.
pub const OUTCOMES: &str = "outcomes.jsonl";

/// A folder in place of a board.
pub struct Capsule {
    holders: Vec<Holder>,
    outcomes: PathBuf,
}

impl Capsule {
    /// Takes the holders of records that lie in the folder.
    pub fn open(folder: PathBuf) -> Result<Self, Failure> {
        let path = folder.join(HOLDERS);
        let holders = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| Failure::input(format!("{HOLDERS}: {error}")))?,
            Err(_) => Vec::new(),
        };
        Ok(Self {
            holders,
            outcomes: folder.join(OUTCOMES),
        })
    }

    /// Who holds the record at a place.
    pub fn holder(&self, place: &Place) -> Option<Held> {
        self.holders.iter().find_map(|holder| holder.at(place))
    }

    /// Leaves a verified run.
    pub fn put(&self, outcome: &Outcome) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(&Wire::from(outcome))
            .map_err(|error| Failure::input(format!("{OUTCOMES}: {error}")))?;
        line.push(b'\n');
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.outcomes)?;
        Ok(file.write_all(&line)?)
    }
}

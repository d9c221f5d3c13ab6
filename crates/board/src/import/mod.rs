//! Other programs' results, as claims.
//!
//! MetalBench keeps `session.json`, the best of each kernel by device with its source, and `results/DEVICE/KERNEL.json`,
//! the last run of each. Both are told apart by content. Fields that are missing or of another kind are left out;
//! only what is no JSON at all, or has no figure in it, is an error.

mod lenient;
mod metalbench;

pub use lenient::without_odd_numbers;

use crate::claim::Claim;
use serde_json::Value;

/// Most bytes of a file.
pub const MOST_BYTES: usize = 64 << 20;

/// Why a file was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Too large to be one.
    #[error("{0} bytes are too many for a file of results; at most {MOST_BYTES} are read")]
    TooLarge(usize),
    /// Not even text.
    #[error("byte {0} is not UTF-8: this is no text")]
    NotText(usize),
    /// Nothing in it.
    #[error("the file is empty")]
    Empty,
    /// Not JSON.
    #[error("line {line}, column {column}: {why}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// JSON of something else.
    #[error("neither MetalBench's session.json nor one of its results: {0}")]
    Unknown(&'static str),
}

/// What was read from a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// What it claims.
    pub claims: Vec<Claim>,
    /// Entries without a proper name or figures.
    pub skipped: usize,
}

/// Reads a file of MetalBench.
pub fn read(bytes: &[u8]) -> Result<Read, ImportError> {
    if bytes.len() > MOST_BYTES {
        return Err(ImportError::TooLarge(bytes.len()));
    }
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|error| ImportError::NotText(error.valid_up_to()))?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let value: Value = serde_json::from_str(&without_odd_numbers(text)).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let why = error.to_string();
        let place = format!(" at line {line} column {column}");
        ImportError::Json {
            line,
            column,
            why: why.strip_suffix(&place).unwrap_or(&why).to_owned(),
        }
    })?;
    metalbench::read(&value)
}

//! Where the database of attempts is, and how its errors are told.

use crate::failure::{Failure, Kind};
use crate::folders;
use assay_tune::attempts::Error;
use std::path::{Path, PathBuf};

/// The database that was asked for: by the option, by `ASSAY_ATTEMPTS`, or the user's own.
pub(crate) fn path(option: Option<&Path>) -> PathBuf {
    if let Some(path) = option {
        return path.to_owned();
    }
    if let Some(path) = folders::variable("ASSAY_ATTEMPTS") {
        return path;
    }
    folders::data()
        .unwrap_or_else(std::env::temp_dir)
        .join("assay/attempts.db")
}

pub(crate) fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::Locked { .. } | Error::ReadOnly { .. } => Kind::Missing,
        _ => Kind::Input,
    };
    Failure::new(kind, error.to_string()).advised(error.advice())
}

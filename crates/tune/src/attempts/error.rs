//! What can go wrong with a database of attempts.

use std::path::{Path, PathBuf};

/// Why a database of attempts could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no file.
    #[error("{}: there is no database of attempts", path.display())]
    Absent {
        /// Where it would be.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: this is no database of attempts: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A newer program wrote it.
    #[error("{}: this database has form {found}, and this program knows forms up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The newest form known here.
        known: i64,
    },
    /// Somebody else writes, and does not end.
    #[error("{}: another program has been writing this database for {seconds} s", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// Nothing can be written there.
    #[error("{}: this database cannot be written: {why}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Who says so.
        why: String,
    },
    /// A session whose recorded attempts are not those that the search makes now.
    #[error(
        "attempt {ordinal} of the session is {recorded}, and the search now proposes {proposed}"
    )]
    Diverged {
        /// The attempt.
        ordinal: u32,
        /// What is recorded.
        recorded: String,
        /// What is proposed.
        proposed: String,
    },
    /// Anything else the database says.
    #[error("{}: {why}", path.display())]
    Database {
        /// The file.
        path: PathBuf,
        /// What it says.
        why: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Absent { .. } => Some("assay tune FILE starts one"),
            Self::Foreign { .. } => Some("name another file with --attempts or ASSAY_ATTEMPTS"),
            Self::Newer { .. } => Some("use the newer assay that wrote it, or another --attempts"),
            Self::Locked { .. } => {
                Some("wait for the other program, or end it: nothing finished is lost")
            }
            Self::ReadOnly { .. } => {
                Some("name a file you can write with --attempts or ASSAY_ATTEMPTS")
            }
            Self::Diverged { .. } => {
                Some("another version of assay made the session: leave --resume out")
            }
            Self::Database { .. } => None,
        }
    }
}

/// Seconds that a writer waits for another.
pub(super) const WAIT_SECONDS: u64 = 30;

/// What an error of SQLite means for the user.
pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode as Code;
    let (path, why) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(Code::NotADatabase | Code::DatabaseCorrupt) => Error::Foreign { path, why },
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => Error::Locked {
            path,
            seconds: WAIT_SECONDS,
        },
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied | Code::DiskFull) => {
            Error::ReadOnly { path, why }
        }
        _ => Error::Database { path, why },
    }
}

//! What can go wrong with a board.

use std::path::{Path, PathBuf};

/// Why a board could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no file.
    #[error("{}: there is no board", path.display())]
    Absent {
        /// Where it would be.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: this is no board: {why}", path.display())]
    NotABoard {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A newer program wrote it.
    #[error("{}: this board has form {found}, and this program knows forms up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The newest form known here.
        known: i64,
    },
    /// Somebody else writes, and does not end.
    #[error("{}: another program has been writing this board for {seconds} s", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// Nothing can be written there.
    #[error("{}: this board cannot be written: {why}", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// Who says so.
        why: String,
    },
    /// The file is a board, but damaged.
    #[error("{}: this board is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
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
            Self::Absent { .. } => Some("assay bench NAME starts one"),
            Self::NotABoard { .. } => Some("name another file with --board or ASSAY_BOARD"),
            Self::Newer { .. } => Some("use the newer assay that wrote it, or another --board"),
            Self::Locked { .. } => {
                Some("wait for the other program, or end it: nothing finished is lost")
            }
            Self::ReadOnly { .. } => {
                Some("name a file you can write with --board or ASSAY_BOARD, or say --no-save")
            }
            Self::Damaged { .. } => Some("sqlite3 FILE .recover saves what can be saved"),
            Self::Database { .. } => None,
        }
    }
}

/// Seconds that a writer waits for another.
pub(crate) const WAIT_SECONDS: u64 = 30;

/// What an error of the database means for the user.
pub(crate) fn explain(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode as Code;
    let (path, why) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(Code::NotADatabase) => Error::NotABoard {
            path,
            why: "the file is not a database".to_owned(),
        },
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => Error::Locked {
            path,
            seconds: WAIT_SECONDS,
        },
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied | Code::DiskFull) => {
            Error::ReadOnly { path, why }
        }
        Some(Code::DatabaseCorrupt) => Error::Damaged { path, why },
        _ => Error::Database { path, why },
    }
}

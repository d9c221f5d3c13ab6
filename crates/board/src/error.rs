//! What can go wrong with a board.

use crate::sql::Failed;
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
    /// A server does not answer.
    #[error("{}: this board's server cannot be reached: {why}", path.display())]
    Unreachable {
        /// The address, without a password.
        path: PathBuf,
        /// What happened.
        why: String,
    },
    /// A server does not let this user in.
    #[error("{}: this board's server refuses: {why}", path.display())]
    Refused {
        /// The address, without a password.
        path: PathBuf,
        /// What it says.
        why: String,
    },
    /// The board is on a server, and this program was built without PostgreSQL.
    #[error("{}: this assay was built without PostgreSQL", path.display())]
    NoPostgres {
        /// The address, without a password.
        path: PathBuf,
    },
    /// A board that should be empty is not.
    #[error("{}: this board has {runs} runs already, and a copy is made into an empty one", path.display())]
    NotEmpty {
        /// The file or address.
        path: PathBuf,
        /// Runs that are there.
        runs: u64,
    },
    /// A copy is not what was copied.
    #[error("{}: the copy differs, and was undone: {why}", path.display())]
    Differs {
        /// The file or address of the copy.
        path: PathBuf,
        /// In what.
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
            Self::Unreachable { why, .. } if why.contains("certificate") => {
                Some("name the authority that signed its certificate: PGSSLROOTCERT=ca.pem")
            }
            Self::Unreachable { .. } => {
                Some("is it running, and is the address right: postgres://user@host:5432/database?")
            }
            Self::Refused { .. } => {
                Some("the user, the password (PGPASSWORD) or the database is not known there")
            }
            Self::NoPostgres { .. } => Some("build it with --features postgres"),
            Self::NotEmpty { .. } => Some("name a new file or database"),
            Self::Differs { .. } => Some("copy again while nobody writes"),
            Self::Database { .. } => None,
        }
    }
}

/// Seconds that a writer waits for another.
pub(crate) const WAIT_SECONDS: u64 = 30;

/// What a failed query means for the user.
pub(crate) fn explain_failed(path: &Path, failed: Failed) -> Error {
    match failed {
        Failed::Sqlite(error) => explain(path, &error),
        #[cfg(feature = "postgres")]
        Failed::Postgres(error) => crate::sql::postgresql::explain(path, &error),
        Failed::Shape(why) => Error::Damaged {
            path: path.to_owned(),
            why,
        },
        Failed::Differs(why) => Error::Differs {
            path: path.to_owned(),
            why,
        },
    }
}

/// What an error of SQLite means for the user.
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

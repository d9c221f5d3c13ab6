//! Where the board is, and how its errors are told.

use crate::failure::Failure;
use crate::folders;
use assay_board::{Board, Error};
use std::path::{Path, PathBuf};

/// The board that was asked for: by the option, by `ASSAY_BOARD`, or the user's own.
pub(crate) fn path(option: Option<&Path>) -> PathBuf {
    if let Some(path) = option {
        return with_password(path.to_owned());
    }
    if let Some(path) = folders::variable("ASSAY_BOARD") {
        return with_password(path);
    }
    folders::data()
        .unwrap_or_else(std::env::temp_dir)
        .join("assay/board.db")
}

/// The address of a board on a server with the password of `PGPASSWORD`, if it names a user and no password. Files stay as
/// they are.
pub(crate) fn with_password(path: PathBuf) -> PathBuf {
    let address = path.to_string_lossy().into_owned();
    let password = std::env::var("PGPASSWORD").ok();
    let add = || {
        let (scheme, rest) = address.split_once("://")?;
        let password = password.filter(|text| !text.is_empty())?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (user, host) = rest.get(..end)?.rsplit_once('@')?;
        if !scheme.starts_with("postgres") || user.contains(':') {
            return None;
        }
        let hidden: String = password
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect();
        Some(format!(
            "{scheme}://{user}:{hidden}@{host}{}",
            rest.get(end..)?
        ))
    };
    add().map_or(path, PathBuf::from)
}

/// Opens the board to write it.
pub(crate) fn to_write(option: Option<&Path>) -> Result<Board, Failure> {
    Board::open(path(option)).map_err(failure)
}

pub(crate) fn failure(error: Error) -> Failure {
    let failure = Failure::input(error.to_string());
    match error.advice() {
        Some(advice) => failure.advice(advice),
        None => failure,
    }
}

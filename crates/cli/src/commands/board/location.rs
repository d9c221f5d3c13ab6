//! Where the board is, and how its errors are told.

use crate::failure::Failure;
use assay_board::{Board, Error};
use std::path::{Path, PathBuf};

/// The board that was asked for: by the option, by `ASSAY_BOARD`, or the user's own.
pub(crate) fn path(option: Option<&Path>) -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = option {
        return path.to_owned();
    }
    if let Some(path) = variable("ASSAY_BOARD") {
        return path.into();
    }
    let home = variable("HOME").map(PathBuf::from);
    let base = if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA").map(PathBuf::from)
    } else {
        variable("XDG_DATA_HOME")
            .map(PathBuf::from)
            .or_else(|| home.map(|home| home.join(".local/share")))
    };
    base.unwrap_or_else(std::env::temp_dir)
        .join("assay/board.db")
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

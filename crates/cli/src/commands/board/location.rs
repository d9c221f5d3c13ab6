//! Where the board is, and how its errors are told.

use crate::failure::Failure;
use crate::folders;
use assay_board::{Board, Error};
use std::path::{Path, PathBuf};

/// The board that was asked for: by the option, by `ASSAY_BOARD`, or the user's own.
pub(crate) fn path(option: Option<&Path>) -> PathBuf {
    if let Some(path) = option {
        return path.to_owned();
    }
    if let Some(path) = folders::variable("ASSAY_BOARD") {
        return path;
    }
    folders::data()
        .unwrap_or_else(std::env::temp_dir)
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

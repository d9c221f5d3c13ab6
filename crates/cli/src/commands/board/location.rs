//! Where the board is, and how its errors are told.

use crate::context::Context;
use crate::failure::Failure;
use crate::{confine, folders};
use assay_board::Board;
use assay_sweep::{Capsule, Saver};
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

/// What saves runs. A board that was asked for must open; the user's own may be missing, and nothing is saved then.
pub(crate) fn saver(option: Option<&Path>, context: &Context) -> Result<Saver, Failure> {
    if let Some(folder) = option.and_then(capsule) {
        return Ok(Saver::apart(Capsule::open(folder)?));
    }
    let asked = option.is_some() || std::env::var_os("ASSAY_BOARD").is_some();
    match to_write(option) {
        Ok(board) => Ok(Saver::to(board)),
        Err(failure) if asked => Err(failure),
        Err(failure) => {
            context.note(&format!("results will not be saved: {}", failure.message));
            Ok(Saver::nowhere())
        }
    }
}

/// The folder that `capsule:FOLDER` names. Only a confined process knows the word.
fn capsule(option: &Path) -> Option<PathBuf> {
    confine::folders()?;
    let text = option.to_str()?;
    text.strip_prefix("capsule:").map(PathBuf::from)
}

pub(crate) use assay_sweep::board_error as failure;

//! `assay board copy`.

use super::location;
use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use assay_board::Board;
use assay_report::number;
use std::path::PathBuf;

/// Copy a board into an empty one, file or server, and compare them
///
/// Everything is copied, with its numbers: sources, runs with all samples, how records changed hands, claims and predicted
/// times. The copy becomes visible when every value of every row has been compared.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay board copy board.db backup.db
  assay board copy board.db postgres://team@db.example/assay
  assay board copy postgres://team@db.example/assay board.db")]
pub(super) struct Args {
    /// The board to copy: a file, or postgres://user@host/database
    from: PathBuf,

    /// An empty one, made if it is not there
    to: PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let from = Board::open_to_read(location::with_password(args.from.clone()));
    let from = from.map_err(location::failure)?;
    let to = Board::open(location::with_password(args.to.clone()));
    let mut to = to.map_err(location::failure)?;
    let copied = from.copy_to(&mut to).map_err(location::failure)?;
    let rows: Vec<String> = copied
        .rows
        .iter()
        .filter(|(_, rows)| *rows > 0)
        .map(|(table, rows)| format!("{} {table}", number::grouped(*rows)))
        .collect();
    let what = if rows.is_empty() {
        "an empty board".to_owned()
    } else {
        rows.join(", ")
    };
    context.write(&format!(
        "Copied {what} to {}; both have the digest {:016x}.\n",
        to.path().display(),
        copied.digest
    ))?;
    Ok(Outcome::Fine)
}

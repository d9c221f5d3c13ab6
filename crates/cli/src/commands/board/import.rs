//! `assay board import`.

use super::location;
use crate::context::Context;
use crate::failure::{CommandResult, Failure};
use crate::{failure, input};
use assay_board::{Board, Imported, import};
use std::path::{Path, PathBuf};

/// Take in MetalBench's results, as claims
///
/// Reads session.json and results/CHIP/KERNEL.json, also with the Infinity and NaN that MetalBench writes. What is
/// read was not verified here: it is kept apart, shown with --claims, and never ranked with verified results. A file
/// that is read again changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay board import session.json
  assay board import results/apple-m2/*.json
  assay board --claims --chip m2")]
pub(super) struct Args {
    /// Files of MetalBench, or -
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The board [default: $ASSAY_BOARD, or board.db in your data folder]
    #[arg(long, value_name = "FILE")]
    board: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let path = location::path(args.board.as_deref());
    let mut board = Board::open(path).map_err(location::failure)?;
    let mut total = Imported::default();
    let (mut skipped, mut unread) = (0, Vec::new());
    for file in &args.files {
        match read(file) {
            Ok(read) => {
                let imported = board.import(&read.claims, crate::machine::now().cast_signed());
                let imported = imported.map_err(location::failure)?;
                total.new += imported.new;
                total.known += imported.known;
                skipped += read.skipped;
            }
            // The others are still read; what went wrong is told at the end.
            Err(failure) => unread.push(failure.message),
        }
    }
    let mut text = format!("{} claims are new, {} were known", total.new, total.known);
    if skipped > 0 {
        text += &format!(", {skipped} entries without a name or a time were passed over");
    }
    text += ". They are not verified: assay board --claims shows them.\n";
    if unread.len() < args.files.len() {
        context.write(&text)?;
    }
    match unread.is_empty() {
        true => Ok(failure::Outcome::Fine),
        false => Err(Failure::input(unread.join("\n"))),
    }
}

fn read(file: &Path) -> Result<import::Read, Failure> {
    let bytes = input::open(file)?;
    import::read(&bytes).map_err(|error| Failure::input(format!("{}: {error}", file.display())))
}

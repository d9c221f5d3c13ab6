//! `assay board export`.

use super::selection::Selection;
use super::{json, location};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_board::render;
use assay_board::{Board, Entry, Filter};

/// Write the board for others
///
/// Markdown is a table of best times, kernels down and devices across. HTML is one self-contained page with a roofline
/// for each device. CSV and JSON have every figure, JSON also every sample and the sources. Claims of others are
/// included, marked as not verified; --no-claims leaves them out.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay board export --format markdown -o best_times.md
  assay board export --format html --set standard -o board.html
  assay board export --format csv --all | head
  assay board export --format json --kernel softmax -o softmax.json")]
pub(super) struct Args {
    /// What to write
    #[arg(long, value_enum)]
    format: Format,

    /// Leave out what others claim
    #[arg(long)]
    no_claims: bool,

    #[command(flatten)]
    selection: Selection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A table of best times
    #[value(alias = "md")]
    Markdown,
    /// For spreadsheets
    Csv,
    /// For programs; follows schemas/assay.board.json
    Json,
    /// One page with rooflines
    Html,
}

/// Every source of what is shown, with its text: a page shows what a source changed.
fn history(args: &Args, board: &Board) -> Result<Vec<Entry>, Failure> {
    let filter = Filter {
        all: true,
        ..args.selection.filter(true)
    };
    board.entries(&filter).map_err(location::failure)
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let board = args.selection.open()?;
    let filter = args.selection.filter(args.format == Format::Json);
    let mut view = args.selection.view(&board, &filter)?;
    if args.no_claims {
        view.claims.clear();
    }
    // Predicted times are shown by `assay board --modelled`; a page of results has none.
    view.modelled.clear();
    let text = match args.format {
        Format::Markdown => render::markdown(&view),
        Format::Csv => render::csv(&view),
        Format::Json => json(&view),
        Format::Html => render::html(&view, &history(args, &board)?),
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

//! `assay board`: what has been verified, and what beats what.

mod copy;
mod export;
mod import;
pub(crate) mod location;
mod selection;
pub(crate) mod setting;
mod verify;

use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use assay_board::render::{self, TextStyle, View};
use assay_report::envelope::Envelope;
use selection::Selection;

/// Show the best verified results by kernel, sizes and device
///
/// assay bench puts every run on the board that it has verified, with its source, all samples and where it was taken.
/// At each place (kernel, element type, sizes, device, clock) one source holds the record. It changes hands only when
/// the samples prove that another source is faster; the same source is never a new record. The figure of a source is
/// its middle run.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  assay board
  assay board --kernel 'conv*' --kernel softmax --dtype f32
  assay board --kernel softmax --all
  assay board export --format html -o board.html
  assay board import session.json results/apple-m2/*.json
  assay board verify softmax
  assay board copy board.db postgres://team@db.example/assay
  assay board --board postgres://team@db.example/assay

Environment:
  ASSAY_BOARD  the board, instead of board.db in your data folder: a file, or
               postgres://user@host/database in a program with the feature postgres
  PGPASSWORD   the password of a board on a server, where its address has none"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    selection: Selection,

    /// With what others claim, which nobody here has verified (assay board import)
    #[arg(long)]
    claims: bool,

    /// With predicted times (assay bench --predict), which no clock told
    #[arg(long)]
    modelled: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Copy(copy::Args),
    Export(export::Args),
    Import(import::Args),
    Verify(Box<verify::Args>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.board.json
    Json,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        None => show(args, context),
        Some(Command::Copy(args)) => copy::run(args, context),
        Some(Command::Export(args)) => export::run(args, context),
        Some(Command::Import(args)) => import::run(args, context),
        Some(Command::Verify(args)) => verify::run(args, context),
    }
}

fn show(args: &Args, context: &Context) -> CommandResult {
    let board = args.selection.open()?;
    let filter = args.selection.filter(false);
    let mut view = args.selection.view(&board, &filter)?;
    let claims = view.claims.len();
    if !args.claims {
        view.claims.clear();
    }
    let modelled = view.modelled.len();
    if !args.modelled {
        view.modelled.clear();
    }
    let text = match args.format {
        Format::Json => json(&view),
        Format::Text => {
            let style = TextStyle {
                width: context.width,
                painter: context.painter,
                all: filter.all,
            };
            let mut text = render::text(&view, style);
            if view.results.is_empty() {
                text += &selection::nothing(&board)?;
            }
            if !args.claims && claims > 0 {
                text += &format!("\n{claims} claims of others are not shown: --claims\n");
            }
            if !args.modelled && modelled > 0 {
                text += &format!("\n{modelled} predicted times are not shown: --modelled\n");
            }
            text
        }
    };
    context.write(&text)?;
    Ok(Outcome::Fine)
}

/// The document that `assay board --format json` and `assay board export --format json` write.
fn json(view: &View) -> String {
    Envelope::new("assay.board", 1, view).to_json()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schemas_are_current() {
        crate::schema::check::<assay_board::render::View>("assay.board", 1);
        crate::schema::check::<assay_sweep::verify::Report>("assay.board-verify", 1);
    }
}

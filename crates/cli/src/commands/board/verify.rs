//! `assay board verify`: runs what holds a record again, and compares.

#[cfg(feature = "fleet")]
mod fleet;

use super::location;
use super::selection::Selection;
use crate::commands::bench::world::{Listener, world};
use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use crate::interrupt;
use assay_report::envelope::Envelope;
use assay_sweep::Saver;
use assay_sweep::verify::{self, Again, Question, Report};

/// Run the holders of records again, from the sources on the board, and compare
///
/// Each source is examined and timed anew, three times. The samples of the middle run are compared with those of its
/// middle run on the board: a tie, faster or slower, with the interval of the ratio at 95 %. Where the medians of old
/// and new runs overlap, a difference is within the spread of runs, and no news either. The new runs go on the board
/// too. Only results of this machine's device can be run again.
///
/// Ends with 1 when a kernel is wrong now, or slower than the board says.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay board verify softmax
  assay board verify softmax relu --dtype f32 --quick
  assay board verify 'conv*' --no-save --format json")]
pub(crate) struct Args {
    /// Kernels; a * at the end stands for any rest
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,

    /// One trial at small sizes and few samples
    #[arg(long)]
    quick: bool,

    /// How often each is timed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=100))]
    rounds: u8,

    /// Where random inputs come from [default: new each time, and told]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Do not put the new runs on the board
    #[arg(long)]
    no_save: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = super::Format::Text)]
    format: super::Format,

    #[command(flatten)]
    selection: Selection,

    #[cfg(feature = "fleet")]
    #[command(flatten)]
    fleet: crate::commands::fleet::FleetArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let board = args.selection.open()?;
    let mut saver = match args.no_save {
        true => Saver::nowhere(),
        false => location::saver(args.selection.board.as_deref(), context)?,
    };
    #[cfg(feature = "fleet")]
    if args.fleet.fleet.is_some() {
        let report = fleet::run(args, &board, &mut saver, context)?;
        return show(&report, args, &saver, context);
    }
    let mut filter = args.selection.filter(true);
    filter.kernels.clone_from(&args.names);
    let asked = Question {
        names: &args.names,
        filter,
        quick: args.quick,
        rounds: args.rounds,
        seed: args.seed,
    };
    interrupt::cooperate();
    let listener = Listener::quiet(context);
    let report = verify::run(&asked, &board, &mut saver, &world(&listener))?;
    show(&report, args, &saver, context)
}

fn show(report: &Report, args: &Args, saver: &Saver, context: &Context) -> CommandResult {
    let text = match args.format {
        super::Format::Json => Envelope::new("assay.board-verify", 1, report).to_json(),
        super::Format::Text => report.text(&context.view(), saver.told()),
    };
    context.write(&text)?;
    Ok(match report.results.iter().all(Again::is_fine) {
        true => Outcome::Fine,
        false => Outcome::Failed,
    })
}

//! `assay trace`: where the GPU's time goes in a run.

mod compare;
mod export;
mod inputs;
mod known;
pub(crate) mod modelled;
mod record;
mod report;
mod selection;

pub(crate) use inputs::capture_code;
pub(crate) use modelled::{executed, read};

use crate::context::Context;
use crate::failure::CommandResult;

/// See where the GPU's time goes in a recorded run
///
/// Reads tables exported from an Instruments recording (Metal System Trace), .gputrace captures,
/// recordings of the timing library and of programs on Linux, on any machine. On a Mac it records with
/// Instruments; on Linux it records what a program encodes and models the GPU.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay trace report exported-tables/
  assay trace report --format html -o run.html toc.xml metal-gpu-intervals.xml.gz
  assay trace compare eager/ compiled/ --steps 100
  assay trace record -- ./my-program --tokens 64
  assay trace record --chip m2,m4-max --keep run.recording -- ./my-program --tokens 64")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Report(report::Args),
    Compare(compare::Args),
    Export(export::Args),
    Record(record::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        Command::Report(args) => report::run(args, context),
        Command::Compare(args) => compare::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Record(args) => record::run(args, context),
    }
}

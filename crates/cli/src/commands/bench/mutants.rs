//! `assay bench mutants`: whether the gate notices kernels that are wrong by one operation.

use super::world::{Listener, world};
use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use crate::interrupt;
use assay_report::envelope::Envelope;
use assay_sweep::mutants::{self, Question};

/// Change one operation of a kernel at a time, and see whether the examination notices
///
/// Mutants are made on the optimised program by nineteen fixed operators: an operand left out, a comparison moved by one,
/// a number in place of an argument, the tail skipped, an accumulator in half precision, the last of equal ones taken, a
/// guard missing and others. Each is examined as assay bench examines a kernel. One that passes and gives the kernel's
/// own bytes at every size with every kind of input is equivalent, and does not count. The score is the part of the rest
/// that was noticed. One that was not is named with the reason, as measured: how much of the tolerance it uses.
///
/// Ends with 1 when a mutant survived.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay bench mutants softmax
  assay bench mutants --all --format json -o mutants.json
  assay bench mutants layer_norm --count 100")]
pub(crate) struct Args {
    /// Kernels of the registry
    #[arg(
        value_name = "NAME",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    names: Vec<String>,

    /// All kernels
    #[arg(long)]
    all: bool,

    /// Mutants of each kernel
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: u32,

    /// Which mutants, and where random inputs come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.bench-mutants.json
    Json,
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    interrupt::cooperate();
    let listener = Listener::names(context);
    let asked = Question {
        names: &args.names,
        count: args.count as usize,
        seed: args.seed,
    };
    let report = mutants::run(asked, &world(&listener))?;
    context.write(&match args.format {
        Format::Text => report.text(&context.view()),
        Format::Json => Envelope::new("assay.bench-mutants", 1, &report).to_json(),
    })?;
    Ok(match report.survived {
        0 => Outcome::Fine,
        _ => Outcome::Failed,
    })
}

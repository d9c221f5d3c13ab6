//! `assay metal`: whole programs with a Metal back end, on Linux.

mod clock;
mod library;
mod reports;
pub(crate) mod run;
mod sdk;

use crate::context::Context;
use crate::failure::CommandResult;

/// Run programs with a Metal back end on Linux, without a GPU
///
/// Programs written for macOS find Metal, Foundation and an Objective-C runtime in one shared object; their kernels run on the
/// CPU. With --check every access of every dispatch is checked, and missing barriers between dispatches are found.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay metal sdk
  clang @$(assay metal sdk)/flags -fobjc-arc main.m -o main -lobjc
  cargo --config $(assay metal sdk)/cargo.toml test
  cmake -B build -DCMAKE_TOOLCHAIN_FILE=$(assay metal sdk)/toolchain.cmake
  assay metal run --check -- ./main
  assay metal run --chip m4 -- python3 program.py
  assay metal run --clock modelled --chip m2 -- ./main")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Sdk(sdk::Args),
    Run(run::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        Command::Sdk(args) => sdk::run(args, context),
        Command::Run(args) => run::run(args, context),
    }
}

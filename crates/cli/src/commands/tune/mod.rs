//! `assay tune`: makes a kernel faster, and says by how much it really is.

mod replay;

use crate::context::Context;
use crate::failure::CommandResult;

/// Make a kernel faster by searching its knobs and rewritings
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Replay(replay::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        Command::Replay(args) => replay::run(args, context),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schemas_are_current() {
        crate::schema::check::<assay_tune::replay::Report>("assay.tune-replay", 1);
    }
}

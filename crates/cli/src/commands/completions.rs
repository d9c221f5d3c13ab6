//! `assay completions`: completion scripts, from the same definitions as the help.

use crate::app;
use crate::context::Context;
use crate::failure::{CommandResult, Outcome};
use clap::CommandFactory;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  assay completions zsh > _assay")]
pub(crate) struct Args {
    /// The shell to complete for
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut app::Cli::command(), "assay", &mut script);
    context.write(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Fine)
}

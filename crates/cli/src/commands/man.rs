//! `assay man`: manual pages, from the same definitions as the help.

use crate::app;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use clap::CommandFactory;

/// Print the manual page of assay, or of one command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  assay man | man -l -\n  assay man disasm > assay-disasm.1")]
pub(crate) struct Args {
    /// The command to describe; the program itself when left out
    command: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut root = app::Cli::command();
    root.build();
    let described = match &args.command {
        None => root,
        Some(name) => {
            let command = root.find_subcommand(name).cloned();
            let command = command.ok_or_else(|| {
                Failure::usage(format!("no command named {name}")).advice("assay --help lists them")
            })?;
            let full_name = format!("assay-{name}");
            command.name(full_name)
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(described).render(&mut page)?;
    context.write(&String::from_utf8_lossy(&page))?;
    Ok(Outcome::Fine)
}

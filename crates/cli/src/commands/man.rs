//! `assay man`: manual pages, from the same definitions as the help.

use crate::app;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use clap::CommandFactory;

/// Print the manual page of assay, or of one command
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  assay man | man -l -\n  assay man disasm > assay-disasm.1\n  assay man trace report | man -l -"
)]
pub(crate) struct Args {
    /// The command to describe, with its subcommand if it has some; the program itself when left out
    command: Vec<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let mut root = app::Cli::command();
    root.build();
    let mut described = &root;
    for name in &args.command {
        described = described.find_subcommand(name).ok_or_else(|| {
            let of = described.get_bin_name().unwrap_or("assay");
            Failure::usage(format!("{of} has no command named {name}"))
                .advice(format!("{of} --help lists them"))
        })?;
    }
    let full_name = described
        .get_bin_name()
        .unwrap_or("assay")
        .replace(' ', "-");
    let described = described.clone().name(full_name);
    let mut page = Vec::new();
    clap_mangen::Man::new(described).render(&mut page)?;
    context.write(&String::from_utf8_lossy(&page))?;
    Ok(Outcome::Fine)
}

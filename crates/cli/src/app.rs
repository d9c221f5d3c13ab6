//! The table of commands, and the path from arguments to an exit code.

use crate::configuration;
use crate::context::{Context, Verbosity};
use crate::failure::{CommandResult, Failure, Kind};
use crate::help;
use crate::interrupt;
use crate::output::Captured;
use crate::shorthand;
use crate::terminal;
use assay_report::style::{Painter, Role};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What a Metal kernel costs, whether it is right, where the GPU's time goes
#[derive(Debug, Parser)]
#[command(
    name = "assay",
    version,
    max_term_width = 100,
    propagate_version = true
)]
pub(crate) struct Cli {
    /// Write the result to FILE instead of standard output
    #[arg(
        short = 'o',
        long,
        value_name = "FILE",
        global = true,
        help_heading = "Common options"
    )]
    out: Option<PathBuf>,

    /// Say nothing but the result
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Common options"
    )]
    quiet: bool,

    /// Say more
    #[arg(short, long, global = true, help_heading = "Common options")]
    verbose: bool,

    #[command(subcommand)]
    command: Command,
}

/// The commands: each is a file under `commands/` with `Args` and `run`.
macro_rules! commands {
    ($($(#[$condition:meta])* $variant:ident $module:ident;)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$condition])* $variant(crate::commands::$module::Args),)*
        }

        impl Command {
            fn run(&self, context: &Context) -> CommandResult {
                match self {
                    $($(#[$condition])* Command::$variant(args) => crate::commands::$module::run(args, context),)*
                }
            }
        }
    };
}

commands! {
    Profile profile;
    Predict predict;
    Diff diff;
    Calibrate calibrate;
    Explain explain;
    Inspect inspect;
    Compile compile;
    Ir ir;
    Decompile decompile;
    Rewrite rewrite;
    Tune tune;
    Attempts attempts;
    Write write;
    Run run;
    Launch launch;
    Gate gate;
    Bench bench;
    Board board;
    Emu emu;
    Trace trace;
    Metal metal;
    Disasm disasm;
    Asm asm;
    Chips chips;
    Lsp lsp;
    #[cfg(feature = "fleet")]
    Fleet fleet;
    #[cfg(feature = "mcp")]
    Mcp mcp;
    Doctor doctor;
    Completions completions;
    Man man;
}

/// Runs one command line, program name first, and says how to exit. Results go to standard output or the file of
/// `-o`, remarks and errors to standard error.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(status(arguments))
}

/// [`run`] for hosts that want the exit code as a number.
pub fn status(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    interrupt::install();
    let arguments: Vec<OsString> = arguments.into_iter().map(long_option).collect();
    let program = help::with_groups(Cli::command(), help::width());
    if arguments.len() < 2 {
        let shown = program.clone().render_help().to_string();
        let _ = writeln!(std::io::stdout(), "{}", shown.trim_end());
        return 0;
    }
    let arguments = shorthand::expand(arguments, &program);
    let json = asks_for_json(&arguments);
    let parsed = program.try_get_matches_from(&arguments);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage_error(&error, &arguments, json),
    };
    let verbosity = match (cli.quiet, cli.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    };
    let mut context = Context::new(cli.out, verbosity);
    if verbosity > Verbosity::Quiet {
        configuration::announce();
    }
    context.line = arguments.into_iter().skip(1).collect();
    match cli.command.run(&context) {
        Ok(outcome) => outcome.status(),
        Err(failure) if failure.kind == Kind::ClosedPipe => 0,
        Err(failure) => {
            show(&failure, json);
            crate::failure::status(failure.kind)
        }
    }
}

/// Runs one command line without program name; the result goes to memory, help and a bad line are failures.
pub(crate) fn captured(arguments: &[OsString], captured: &Captured) -> CommandResult {
    let line = std::iter::once(OsString::from("assay")).chain(arguments.iter().cloned());
    let cli = Cli::try_parse_from(line)
        .map_err(|error| Failure::usage(error.to_string().trim_end().to_owned()))?;
    cli.command.run(&Context::in_memory(cli.out, captured))
}

/// Compilers spell `--include` with one dash.
fn long_option(argument: OsString) -> OsString {
    if argument == "-include" {
        "--include".into()
    } else {
        argument
    }
}

/// Whether the user asked for JSON, known even when the rest of the line is wrong.
fn asks_for_json(arguments: &[OsString]) -> bool {
    let texts: Vec<_> = arguments
        .iter()
        .map(|text| text.to_string_lossy())
        .collect();
    let json = |text: &str| text == "json" || text == "jsonl";
    texts
        .windows(2)
        .any(|pair| pair[0] == "--format" && json(&pair[1]))
        || texts
            .iter()
            .any(|text| text.strip_prefix("--format=").is_some_and(json))
}

fn usage_error(error: &clap::Error, arguments: &[OsString], json: bool) -> u8 {
    use clap::error::ErrorKind;
    let is_help = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if json && !is_help {
        show(
            &Failure::usage(error.to_string().trim_end().to_owned()),
            true,
        );
    } else {
        // Help goes to standard output, errors to standard error; a closed pipe is fine.
        let _ = if is_help {
            error.print()
        } else {
            write!(anstream::stderr(), "{}", painted(error, arguments))
        };
    }
    if is_help {
        0
    } else {
        crate::failure::status(Kind::Usage)
    }
}

/// The text of a wrong line, in colours unless an argument brings its own: it may be the name of a stranger's file.
fn painted(error: &clap::Error, arguments: &[OsString]) -> String {
    let is_plain = |argument: &OsString| !argument.to_string_lossy().contains(char::is_control);
    let text = error.render();
    match arguments.iter().all(is_plain) {
        true => text.ansi().to_string(),
        false => terminal::visible(&text.to_string()),
    }
}

fn show(failure: &Failure, json: bool) {
    if json {
        // JSON was asked for, so whoever reads standard output expects a document.
        let _ = writeln!(std::io::stdout(), "{}", crate::failure::to_json(failure));
        return;
    }
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let painter = Painter::new(std::io::stderr().is_terminal() && !no_colour);
    let mut stderr = std::io::stderr();
    let _ = writeln!(
        stderr,
        "{} {}",
        painter.paint(Role::Bad, "error:"),
        terminal::visible(&failure.message)
    );
    if let Some(advice) = &failure.advice {
        let heading = painter.paint(Role::Heading, "help:");
        let _ = writeln!(stderr, "{heading} {}", terminal::visible(advice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_paints_leaves_the_text_of_the_error_plain() {
        for (argument, coloured) in [("bogus", true), ("bo\x1b[31mgus", false), ("b\x07", false)] {
            let line = [OsString::from("assay"), OsString::from(argument)];
            let error = Cli::try_parse_from(&line).expect_err("no such command");
            let text = painted(&error, &line);
            assert_eq!(text.contains('\x1b'), coloured, "{text:?}");
            assert!(!text.contains('\x07'), "{text:?}");
        }
    }
}

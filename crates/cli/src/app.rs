//! The table of commands, and the path from arguments to an exit code.

use crate::configuration;
use crate::context::{Context, Verbosity};
use crate::failure::{CommandResult, Failure, Kind};
use crate::interrupt;
use crate::output::Captured;
use crate::terminal;
use assay_report::style::{Painter, Role};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Exit codes:
  0  fine
  1  the thing examined failed: wrong result, regression, gate
  2  bad usage
  3  bad or unreadable input
  4  something is missing on this machine (the message says how to get it)
  130  stopped by Ctrl-C; finished work is kept

Environment:
  NO_COLOR     no colour, whatever the terminal
  COLUMNS      lay text out for this many columns
  ASSAY_CLANG  the clang that compiles Metal source, instead of the one found
  ASSAY_CACHE  the folder for compiled headers, instead of the user's cache folder
  ASSAY_BOARD  the file that assay bench saves to and assay board shows
  ASSAY_ATTEMPTS  the file that assay tune keeps attempts in and assay attempts shows
  ASSAY_CHIPS  the folder of chip files that assay calibrate writes and predictions use
  ASSAY_PYTHON the Python that has MLX or PyTorch, for assay bench --reference";

/// What a Metal compute kernel costs, whether it is right, where the GPU's time goes
#[derive(Debug, Parser)]
#[command(name = "assay", version, after_help = AFTER_HELP, max_term_width = 100)]
#[command(arg_required_else_help = true, propagate_version = true)]
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
    let json = asks_for_json(&arguments);
    let cli = match Cli::try_parse_from(&arguments) {
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

//! What a command is given: where to write, how wide, with colour or without.

use crate::failure::Failure;
use crate::output::{Captured, Output};
use crate::terminal;
use assay_report::blocks::View;
use assay_report::style::Painter;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

/// How talkative to be, from `-q` and `-v`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// The surroundings of a command.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Where the result goes; standard output when empty.
    pub(crate) out: Option<PathBuf>,
    pub(crate) verbosity: Verbosity,
    /// Colour for the result: on when standard output is a terminal and `NO_COLOR` is not set.
    pub(crate) painter: Painter,
    /// Columns to lay text out for.
    pub(crate) width: usize,
    /// True if somebody said how wide: a terminal or `COLUMNS`. Lines of prose are folded then.
    pub(crate) folds: bool,
    /// Whether the result goes to a terminal.
    pub(crate) terminal: bool,
    /// Whether standard error is a terminal, so that progress may be drawn.
    pub(crate) progress: bool,
    /// Takes what would go to standard output.
    pub(crate) captured: Option<Captured>,
    /// The words after the program's name, as they were written; empty for commands called as functions.
    #[cfg_attr(
        not(feature = "fleet"),
        allow(dead_code, reason = "sent to other machines")
    )]
    pub(crate) line: Vec<OsString>,
}

/// Width used when the result does not go to a terminal.
const PIPE_WIDTH: usize = 120;

impl Context {
    pub(crate) fn new(out: Option<PathBuf>, verbosity: Verbosity) -> Self {
        let is_terminal = out.is_none() && std::io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let columns = std::env::var("COLUMNS")
            .ok()
            .and_then(|text| text.parse().ok());
        let width = columns.or_else(|| {
            let (width, _) = terminal_size::terminal_size()?;
            is_terminal.then_some(usize::from(width.0))
        });
        Context {
            out,
            verbosity,
            painter: terminal::painter(is_terminal && !no_colour),
            width: width.unwrap_or(PIPE_WIDTH).max(20),
            folds: width.is_some(),
            terminal: is_terminal,
            progress: std::io::stderr().is_terminal() && verbosity > Verbosity::Quiet,
            captured: None,
            line: Vec::new(),
        }
    }

    /// How blocks are laid out.
    pub(crate) fn view(&self) -> View {
        View {
            painter: self.painter,
            width: self.width,
            folds: self.folds,
        }
    }

    /// A context whose result stays in memory: no colour, no progress, no remarks.
    pub(crate) fn in_memory(out: Option<PathBuf>, captured: &Captured) -> Self {
        Context {
            painter: Painter::new(false),
            width: PIPE_WIDTH,
            folds: false,
            terminal: false,
            progress: false,
            captured: Some(captured.clone()),
            ..Context::new(out, Verbosity::Quiet)
        }
    }

    /// Opens the result: standard output, or the file named by `-o`, which appears
    /// only when [`Output::finish`] is called.
    pub(crate) fn output(&self) -> Result<Output, Failure> {
        match (&self.captured, &self.out) {
            (Some(captured), None) => Ok(Output::Memory(captured.clone())),
            _ => Output::open(self.out.as_deref()),
        }
    }

    /// Writes a complete text result.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        use std::io::Write;
        let mut output = self.output()?;
        output.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            output.write_all(b"\n")?;
        }
        output.finish()
    }

    /// Writes a complete text for people: lines longer than the terminal are folded between words.
    pub(crate) fn write_prose(&self, text: &str) -> Result<(), Failure> {
        match self.folds {
            true => self.write(&assay_report::wrap::fold(text, self.width)),
            false => self.write(text),
        }
    }

    /// A remark on standard error, unless `-q` was given.
    pub(crate) fn note(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            anstream::eprintln!("{}", terminal::visible(text));
        }
    }
}

//! What says what a kernel should compute, as a command line writes it: an expression, a Python file, or a command.

use crate::failure::Failure;
use crate::{confine, input};
use assay_bench::oracle::launched::definition;
use assay_bench::oracle::{Definition, Language, Program, expression};
use std::path::Path;
use std::sync::Arc;

/// An oracle as `--oracle` has it: `y[i] = 2 * x[i]`, a Python file, or a command that speaks the protocol of references.
pub(crate) fn parse(text: &str) -> Result<Definition, Failure> {
    let is_command = !text.ends_with(".py") && !text.contains('=');
    let parsed = match is_command {
        true => Definition::Program(Arc::new(Program::new(Language::Shell, text, ""))),
        false => definition(text, read).map_err(|Unread(failure)| failure)?,
    };
    if confine::folders().is_some() && matches!(parsed, Definition::Program(_)) {
        return Err(
            Failure::usage("--oracle: programs do not run here, only expressions")
                .advice("an expression is a line per output: y[r] = sum(k < C: x[r, k])"),
        );
    }
    Ok(parsed)
}

/// Why an oracle cannot be read.
struct Unread(Failure);

impl From<expression::Error> for Unread {
    fn from(error: expression::Error) -> Unread {
        let failure = Failure::usage(format!("--oracle: {error}"));
        Unread(failure.advice("an expression is a line per output: y[r] = sum(k < C: x[r, k])"))
    }
}

fn read(name: &str) -> Result<String, Unread> {
    let bytes = input::open(Path::new(name)).map_err(Unread)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| Unread(Failure::input(format!("{name} is not text"))))?;
    Ok(text.to_owned())
}

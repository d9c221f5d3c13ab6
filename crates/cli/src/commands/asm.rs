//! `assay asm`: text to machine code.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::input;
use assay_agx::{AsmError, Isa, assemble};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

/// Assemble AGX machine code from applegpu's syntax
///
/// One instruction a line. `name:` is a label that jumps and calls can use; `;`, `//` and
/// `#` begin a comment; `.short` and `.byte` are raw data. The output of `assay disasm` is
/// accepted as it is and gives back the same bytes: a line's HEX counts as long as its
/// words still say the same, and the words count when they were edited.
///
/// Without -o the bytes are printed as hexadecimal digits.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo 'fmadd32 r0, r1, r2, r3' | assay asm -
  assay asm kernel.s -o kernel.bin
  assay disasm kernel.bin | assay asm - -o same.bin")]
pub(crate) struct Args {
    /// The source; `-` is standard input
    file: PathBuf,

    /// Address of the first byte, for absolute branch targets
    #[arg(long, value_name = "ADDRESS", value_parser = super::disasm::number, default_value = "0")]
    origin: u64,

    /// Instruction set: g13, g14 or g15 (M3, M4, A18), or a chip's such as g14s
    #[arg(long, value_name = "NAME", default_value = "g13")]
    isa: Isa,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let bytes = input::open(&args.file)?;
    let name = match args.file.as_os_str() {
        dash if dash == "-" => "standard input".to_owned(),
        _ => args.file.display().to_string(),
    };
    let source = std::str::from_utf8(&bytes).map_err(|error| {
        Failure::input(format!(
            "{name} is not text: byte {:#x} is not UTF-8",
            error.valid_up_to()
        ))
        .advice("`assay disasm` takes machine code; asm takes its text")
    })?;
    let assembly =
        assemble(args.isa, source, args.origin).map_err(|error| located(&name, source, &error))?;
    if assembly.code.is_empty() {
        return Err(Failure::input(format!("{name} holds no instruction")));
    }
    if !assembly.edited_lines.is_empty() {
        context.note(&format!(
            "{} of the listing edited (first: line {}): the words count, not the old bytes",
            count(assembly.edited_lines.len()),
            assembly.edited_lines.first().copied().unwrap_or_default()
        ));
    }
    if context.out.is_some() {
        let mut output = context.output()?;
        output.write_all(&assembly.code)?;
        output.finish()?;
    } else {
        let mut hex = String::with_capacity(assembly.code.len() * 2);
        for byte in &assembly.code {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
        }
        context.write(&hex)?;
    }
    Ok(Outcome::Fine)
}

fn count(lines: usize) -> String {
    match lines {
        1 => "1 line".to_owned(),
        n => format!("{n} lines"),
    }
}

/// The message with its place and the line it is about.
fn located(name: &str, source: &str, error: &AsmError) -> Failure {
    const WIDEST: usize = 160;
    let AsmError {
        line,
        column,
        message,
    } = error;
    let text = source.lines().nth(line - 1).unwrap_or_default();
    let mut shown = format!("{name}:{line}:{column}: {message}");
    if text.chars().count() <= WIDEST && !text.chars().any(|c| c.is_control() && c != '\t') {
        let margin = " ".repeat(line.to_string().len());
        let before = text.chars().take(column - 1);
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let _ = write!(shown, "\n {line} | {text}\n {margin} | {indent}^");
    }
    Failure::input(shown)
}

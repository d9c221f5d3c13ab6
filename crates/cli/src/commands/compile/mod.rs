//! `assay compile`: Metal source to bitcode, or a folder of it to a table.

mod folder;
mod show;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::output::Output;
use crate::source::SourceArgs;
use crate::{input, source, toolchain};
use assay_engine::diagnostics;
use assay_msl::{Compiled, Emit, Options, Source, compile};
use assay_report::envelope::Envelope;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

#[cfg(test)]
use schemars::JsonSchema;

/// Compile Metal source to AIR-like bitcode, with clang
///
/// The result is one LLVM bitcode file that describes its own kernels; the other
/// commands read it like Apple's. Without -o the source is only checked and its kernels
/// are listed. Given a folder, every .metal file in it is compiled and a table printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay compile softmax.metal -o softmax.bc
  assay compile softmax.metal -I include -D HEAD_DIM=128 -fno-fast-math
  assay compile shaders/ --format json")]
pub(crate) struct Args {
    /// A .metal file, - for standard input, or a folder
    #[arg(value_name = "FILE|FOLDER")]
    path: PathBuf,

    /// -fno-fast-math, or -ffast-math (Metal's default)
    #[arg(short = 'f', value_name = "OPTION", value_parser = ["no-fast-math", "fast-math"])]
    math: Vec<String>,

    /// Do not record source lines
    #[arg(long)]
    no_lines: bool,

    /// Make a program to be checked: nothing is optimised away, and clang warns
    #[arg(long)]
    checked: bool,

    /// What to write with -o
    #[arg(long, value_enum, default_value_t = Form::Bitcode)]
    emit: Form,

    /// Fail unless this kernel is in the source; may be repeated
    #[arg(long, value_name = "NAME")]
    function: Vec<String>,

    /// How to list the kernels
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// LLVM bitcode
    Bitcode,
    /// LLVM's text
    Llvm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.compile.json
    Json,
}

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Document {
    /// The clang that was used.
    compiler: String,
    /// Whether every file compiled.
    ok: bool,
    files: Vec<FileEntry>,
}

/// One source.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct FileEntry {
    path: String,
    ok: bool,
    /// Host time of the compilation.
    seconds: f64,
    /// Size of the bitcode; null when there is none.
    bytes: Option<usize>,
    kernels: Vec<KernelEntry>,
    /// Errors, the first first.
    errors: Vec<diagnostics::ErrorEntry>,
}

/// A kernel by the name a host program uses.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct KernelEntry {
    name: String,
    arguments: Vec<ArgumentEntry>,
}

/// An argument of a kernel.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct ArgumentEntry {
    name: String,
    /// `buffer`, `threadgroup`, `texture`, `sampler`, or the attribute of a builtin.
    kind: String,
    /// Binding index; null for builtins and where only the bitcode knows.
    index: Option<u32>,
    /// As written in the source.
    #[serde(rename = "type")]
    type_name: String,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let compiler = toolchain::find()?;
    let options = args.options();
    if args.path.is_dir() {
        return folder::run(args, &compiler, &options, context);
    }
    let text = input::open(&args.path)?;
    let name = source::shown_name(&args.path);
    let started = std::time::Instant::now();
    let source = Source {
        path: name,
        text: &text,
    };
    let compiled =
        compile(source, &compiler, &options).map_err(|error| diagnostics::failure(name, &error))?;
    let seconds = started.elapsed().as_secs_f64();
    check_names(&name.display().to_string(), &args.function, &compiled)?;
    if compiled.kernels.is_empty() {
        let held = compiled.other_functions();
        let held = held.map_or(String::new(), |held| format!("; it holds {held}"));
        context.note(&format!(
            "note: {} declares no kernels{held}",
            name.display()
        ));
    }
    if context.out.is_some() {
        let mut output = context.output()?;
        output.write_all(&compiled.code)?;
        output.finish()?;
    }
    if context.out.as_deref() == Some(Path::new("-")) {
        return Ok(Outcome::Fine);
    }
    list(
        args,
        context,
        &compiler.command_line(),
        name,
        &compiled,
        seconds,
    )?;
    Ok(Outcome::Fine)
}

impl Args {
    fn options(&self) -> Options {
        let mut options = self
            .source
            .options(&self.path)
            .for_clang(toolchain::cache_folder());
        if let Some(last) = self.math.last() {
            options.fast_math = last == "fast-math";
        }
        options.debug_lines = !self.no_lines;
        options.checked = self.checked;
        options.emit = match self.emit {
            Form::Bitcode => Emit::Bitcode,
            Form::Llvm => Emit::Text,
        };
        options
    }
}

/// The names asked for must exist.
fn check_names(file: &str, wanted: &[String], compiled: &Compiled) -> Result<(), Failure> {
    let names = compiled.kernels.iter().map(|kernel| kernel.name.as_str());
    let unknown = |name: &&String| !names.clone().any(|known| known == *name);
    match wanted.iter().find(unknown) {
        None => Ok(()),
        Some(name) => Err(assay_engine::names::unknown(file, "kernel", name, names)),
    }
}

/// Lists what was compiled: on standard output when the code went to a file or nowhere.
fn list(
    args: &Args,
    context: &Context,
    compiler: &str,
    path: &Path,
    compiled: &Compiled,
    seconds: f64,
) -> Result<(), Failure> {
    let text = match args.format {
        Format::Json => {
            let document = Document {
                compiler: compiler.to_owned(),
                ok: true,
                files: vec![FileEntry {
                    path: path.display().to_string(),
                    ok: true,
                    seconds,
                    bytes: Some(compiled.code.len()),
                    kernels: compiled.kernels.iter().map(show::kernel_entry).collect(),
                    errors: Vec::new(),
                }],
            };
            Envelope::new("assay.compile", 1, document).to_json() + "\n"
        }
        // With -o, the file is the result.
        Format::Text if context.out.is_some() => {
            let file = context.out.as_deref().unwrap_or(Path::new("")).display();
            let (kernels, bytes) = (compiled.kernels.len(), compiled.code.len());
            let plural = if kernels == 1 { "" } else { "s" };
            context.note(&format!("{file}: {kernels} kernel{plural}, {bytes} bytes"));
            return Ok(());
        }
        Format::Text => show::kernels(compiled, context),
    };
    let mut output = Output::open(None)?;
    output.write_all(text.as_bytes())?;
    output.finish()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_checked_in() {
        crate::schema::check::<super::Document>("assay.compile", 1);
    }
}

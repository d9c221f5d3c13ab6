//! `assay launch`: how the kernels of a file are dispatched, as comments to paste.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::ConstantArgs;
use crate::input;
use crate::launch::{Asked, LaunchArgs};
use crate::source::{self, SourceArgs};
use assay_engine::Origin;
use assay_front::{Form, Kernel, Library, OpenConstants, Request};
use assay_launch::Written;
use assay_report::envelope::Envelope;
use serde::Serialize;
use std::path::PathBuf;

/// Say how every kernel of a file is launched, as comments to paste into its source
///
/// A launch is what the flags say, what assay.toml says, what a comment `// assay: launch` of the source says, or a guess
/// from the kernel's signature: a whole number that it takes is a size, unless its name says that it is a stride or an
/// offset. A guess was run at small sizes on this CPU and stayed inside its buffers.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay launch kernels.metal
  assay launch kernels.metal -f softmax
  assay launch kernels.metal -f softmax --arg n=4096
  assay launch kernels.metal >> kernels.metal")]
pub(crate) struct Args {
    /// The file: Metal source, a metallib, LLVM bitcode
    file: PathBuf,

    /// Only this kernel
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    launch: LaunchArgs,

    #[command(flatten)]
    values: ConstantArgs,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Comments
    Text,
    /// For programs; follows schemas/assay.launch.json
    Json,
}

/// More kernels than this are not guessed unasked.
const MOST: usize = 64;

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document {
    /// Kernel by kernel.
    kernels: Vec<Entry>,
}

/// The launch of a kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Entry {
    /// Its name.
    kernel: String,
    /// What the launch comes from; null where there is none.
    origin: Option<Origin>,
    /// The launch as flags; null where there is none.
    launch: Option<String>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let bytes = input::open(&args.file)?;
    let file = source::open(&args.file, &bytes)?;
    if !file.needs_code() {
        return Err(Failure::input(format!(
            "{} is machine code: nothing is known of the names and types of its arguments",
            args.file.display()
        ))
        .advice("give the Metal source, or a metallib"));
    }
    let options = args.source.options(&args.file);
    let library = source::library_as(&args.file, &file, &options)?;
    let chosen = library.choose(args.function.as_deref());
    let kernels = chosen.map_err(|error| source::failure(&args.file, error))?;
    if kernels.len() > MOST {
        let (path, count) = (args.file.display(), kernels.len());
        return Err(Failure::usage(format!("{path} holds {count} kernels"))
            .advice("choose one with -f NAME; `assay inspect` lists them"));
    }
    warn(&bytes, &library, args, context);
    let flags = args.launch.written()?;
    let entries = kernels.iter().map(|kernel| {
        let arguments = arguments(kernel, args)?;
        let asked = Asked {
            path: &args.file,
            bytes: &bytes,
            kernel: &kernel.name,
            arguments: &arguments,
            options: options.clone(),
            constants: &args.values.constants,
        };
        entry(&asked, &flags)
    });
    let kernels = entries.collect::<Result<Vec<Entry>, Failure>>()?;
    let is_known = kernels.iter().any(|entry| entry.launch.is_some());
    let text = match args.format {
        Format::Json => Envelope::new("assay.launch", 1, Document { kernels }).to_json(),
        Format::Text => {
            remark(&kernels, context);
            kernels.iter().map(Entry::line).collect()
        }
    };
    context.write(&text)?;
    Ok(match is_known {
        true => Outcome::Fine,
        false => Outcome::Unreadable,
    })
}

fn warn(bytes: &[u8], library: &Library, args: &Args, context: &Context) {
    let names = library.kernels().iter().map(|kernel| kernel.name.as_str());
    if let Ok(text) = std::str::from_utf8(bytes) {
        for (line, why) in assay_launch::misplaced(text, names) {
            context.note(&format!("warning: {}:{line}: {why}", args.file.display()));
        }
    }
}

fn arguments(kernel: &Kernel, args: &Args) -> Result<Vec<assay_ssa::Argument>, Failure> {
    let request = Request {
        constants: &args.values.constants,
        open: OpenConstants::Zero,
        form: Form::LoopsKept,
    };
    let program = kernel.program_as(&request);
    let module = program
        .map_err(|error| source::failure(&args.file, error))?
        .module;
    let found = module.kernel(&kernel.name);
    Ok(found.map_or(Vec::new(), |kernel| kernel.arguments.clone()))
}

/// The launch of a kernel; a mistake in one that is written is an error.
fn entry(asked: &Asked<'_>, flags: &Written) -> Result<Entry, Failure> {
    let kernel = asked.kernel.to_owned();
    if let Some(launched) = asked.written(flags.clone())? {
        return Ok(Entry {
            kernel,
            origin: Some(launched.origin),
            launch: Some(launched.launch.to_string()),
            why: None,
        });
    }
    Ok(match asked.guess(flags) {
        Ok(guessed) => Entry {
            kernel,
            origin: Some(Origin::Guess),
            launch: Some(guessed.written.to_string()),
            why: None,
        },
        Err(why) => Entry {
            kernel,
            origin: None,
            launch: None,
            why: Some(why.message),
        },
    })
}

/// Says which launches are guesses, and which kernels have none.
fn remark(kernels: &[Entry], context: &Context) {
    let guessed = kernels.iter().filter(|it| it.origin == Some(Origin::Guess));
    let names: Vec<&str> = guessed.map(|it| it.kernel.as_str()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        context.note(&format!("note: guessed from the signature: {names}"));
    }
}

impl Entry {
    fn line(&self) -> String {
        let kernel = &self.kernel;
        match (&self.launch, &self.why) {
            (Some(launch), _) => format!("// assay: launch {kernel} {launch}\n"),
            (None, why) => {
                let why = why.as_deref().unwrap_or("its arguments do not say");
                format!(
                    "// no launch for {kernel} can be guessed: {}\n",
                    why.replace('\n', " ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.launch", 1);
    }
}

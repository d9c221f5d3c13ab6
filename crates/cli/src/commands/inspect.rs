//! `assay inspect`: what is inside a file.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::input;
use crate::source::{self, SourceArgs};
use assay_container::Contents;
use assay_front::inspect::{self, Document};
use assay_report::blocks::Detail;
use assay_report::envelope::Envelope;
use std::path::PathBuf;

/// List what is inside a metallib, bitcode, Metal source, binary archive, GPU Mach-O, .gputrace capture, or a file that carries metallibs
///
/// The file is recognised by its content. For a metallib: its functions with type, AIR
/// and Metal versions, size and hash. For bitcode and Metal source (compiled on the way),
/// and for a few chosen functions of a metallib: the kernels with their arguments. For machine code: the GPU, the parts of the code
/// and what the compiler stated about registers and memory.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay inspect default.metallib
  assay inspect libtorch_cpu.dylib --format json
  assay inspect softmax.metal
  assay inspect kernels.gpubin -f softmax_float32")]
pub(crate) struct Args {
    /// The file, or the folder of a .gputrace capture; `-` is standard input
    file: PathBuf,

    /// Only this function
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    /// Every function and its arguments instead of the first screen
    #[arg(long)]
    full: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    source: SourceArgs,
}

/// Arguments are read unasked of so many kernels of a metallib.
const MOST_READ: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.inspect.json
    Json,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let path = args.file.display().to_string();
    if args.file.is_dir() {
        crate::confine::check(&args.file)?;
        if let Some(members) = crate::commands::trace::capture_code(&args.file) {
            return capture(args, context, Document::of_capture(&path, &members));
        }
    }
    let bytes = input::open(&args.file)?;
    let fail = |error: assay_container::Error| {
        let failure = Failure::input(format!("{path}: {error}"));
        failure.advised(error.advice())
    };
    let is_source = assay_front::is_source(&args.file, &bytes);
    // Named as source, it is, kernels or not, whatever encoding its comments have: the compiler says what is wrong with it.
    let text = is_source.then(|| String::from_utf8_lossy(&bytes));
    let contents = match &text {
        Some(text) => Contents::Source(text),
        None => assay_container::open(&bytes).map_err(fail)?,
    };
    let mut document = Document::new(&path, bytes.len() as u64, &contents).map_err(fail)?;
    let bad = |error: assay_air::Error| Failure::input(format!("{path}: {error}"));
    if is_source {
        let bitcode = source::bitcode(&args.file, &bytes, &args.source)?;
        let metal = args.source.standard().trim_start_matches("metal");
        document.add_bitcode(&bitcode, Some(metal)).map_err(bad)?;
    } else if let Contents::Bitcode(_) = contents {
        document.add_bitcode(&bytes, None).map_err(bad)?;
    }
    check_not_empty(&document)?;
    if let Some(name) = &args.function {
        select(&mut document, name)?;
    }
    document.add_arguments(&contents, MOST_READ);
    write(args, context, document)
}

/// A `.gputrace` folder: the metallibs and the machine code among its members.
fn capture(args: &Args, context: &Context, mut document: Document) -> CommandResult {
    if document.slices.is_empty() && document.metallibs.is_empty() {
        let message = format!(
            "{}: no member of this capture holds code",
            document.file.path
        );
        return Err(Failure::input(message).advice("assay trace report shows its calls"));
    }
    if let Some(name) = &args.function {
        select(&mut document, name)?;
    }
    write(args, context, document)
}

fn write(args: &Args, context: &Context, document: Document) -> CommandResult {
    let text = match args.format {
        Format::Text => {
            let detail = match args.full || args.function.is_some() {
                true => Detail::Full,
                false => Detail::Screen,
            };
            inspect::render(&document, detail, context.painter, context.width)
        }
        Format::Json => Envelope::new("assay.inspect", 1, document).to_json(),
    };
    match args.format {
        Format::Text => context.write_prose(&text)?,
        Format::Json => context.write(&text)?,
    }
    Ok(Outcome::Fine)
}

/// A file of functions without any is a mistake worth an exit code.
fn check_not_empty(document: &Document) -> Result<(), Failure> {
    if document.kernels.is_none() || document.all().next().is_some() {
        return Ok(());
    }
    let file = &document.file;
    let offset = document
        .metallibs
        .first()
        .map_or(0, |library| library.offset);
    Err(Failure::input(format!(
        "{}: this {} holds no functions (at offset {offset:#x})",
        file.path, file.kind
    ))
    .advice("check how it was built: nothing was compiled into it"))
}

fn select(document: &mut Document, name: &str) -> Result<(), Failure> {
    let names: Vec<String> = document
        .all()
        .filter_map(|kernel| kernel.name.clone())
        .collect();
    if document.keep_only(name) {
        return Ok(());
    }
    let names = names.iter().map(String::as_str);
    Err(assay_engine::names::unknown(
        &document.file.path,
        "function",
        name,
        names,
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.inspect", 1);
    }
}

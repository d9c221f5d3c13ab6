//! `assay emu`: run AGX machine code.

mod progress;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::CodeArgs;
use crate::launch::{self, Asked, LaunchArgs, Launched};
use crate::output::Output;
use crate::{input, source};
use assay_agx::{Isa, Program};
use assay_emu::run_with_progress;
use assay_engine::emulated::{self, Opened, Options, Report, Setup, number};
use assay_front::{File, Kind};
use assay_report::envelope::Envelope;
use clap::ValueEnum;
use progress::Progress;
use std::io::Write as _;
use std::path::PathBuf;

/// Run AGX machine code (M1 to M4 and A18 GPUs) on the CPU and prove its waits and hints
///
/// CODE is raw machine code, a listing (`OFFSET<tab>HEX<tab>…`), an archive, or a program to
/// generate code for (.metal, .metallib, bitcode). U is the number of a 16-bit uniform, 0 is
/// u0l, 4 is u2l, or bN for `[[buffer(N)]]` of generated code. A register that is read before the
/// `wait` of its load, after a discard, or without having been written ends the run with
/// both instructions named, and so does an access outside the buffers given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay emu saxpy.tsv --grid 100 --threadgroup 64 \\
      --arg 0=buffer:y.npy --arg 4=buffer:x.npy --arg 8=f32:2.5 --arg 10=u32:100 --out 0=result.npy
  assay emu saxpy.metal --grid 100 --threadgroup 64 \\
      --arg b0=buffer:y.npy --arg b1=buffer:x.npy --arg b2=f32:2.5 --arg b3=u32:100 --out b0=result.npy
  assay emu saxpy.metal --size N=100,33 --grid N --threadgroup 64 --buffer 0=zeros:f32:N \\
      --buffer 1=iota:f32:N --bytes 2=f32:2.5 --bytes 3=u32:N
  assay emu kernel.bin --grid 64,64 --threadgroup 8,8 --arg 0=zeros:16384 --counts
  assay emu archive.metallib -f my_kernel --grid 32 --threadgroup 32 --trace 5")]
pub(crate) struct Args {
    /// The program; `-` is standard input
    code: PathBuf,

    /// The function to run, when the file has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    launch: LaunchArgs,

    /// Bytes for uniforms, in hexadecimal
    #[arg(long, value_name = "U=HEX")]
    uniforms: Vec<String>,

    /// The constant program, run once before: raw code or a listing
    #[arg(long, value_name = "FILE")]
    preamble: Option<PathBuf>,

    /// Byte offset where execution starts
    #[arg(long, value_name = "OFFSET", value_parser = number)]
    entry: Option<u32>,

    /// Stack in bytes per thread [default: what the file states, else 65536]
    #[arg(long, value_name = "BYTES", value_parser = number)]
    scratch: Option<u32>,

    /// Write the buffer of argument U to a file afterwards, with the type and shape it came with; a
    /// name without `=` is where the report goes
    #[arg(short = 'o', long = "out", id = "out", value_name = "U=FILE.npy")]
    outputs: Vec<PathBuf>,

    /// Show how often each instruction was executed
    #[arg(long)]
    counts: bool,

    /// Show what the thread at this position of the grid did
    #[arg(long, value_name = "X[,Y,Z]", value_parser = position)]
    trace: Option<Position>,

    /// Instructions one simdgroup may execute
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    max_steps: u64,

    /// Do not check waits, hints, unwritten registers, unset uniforms and mask nesting
    #[arg(long)]
    lenient: bool,

    /// Instruction set of raw code: g13, g14 or g15 (M3, M4, A18), or a chip's such as g14s
    #[arg(long, value_name = "NAME", default_value = "g13")]
    isa: Isa,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    programs: CodeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A position; what is left out is 0.
#[derive(Clone, Copy, Debug)]
struct Position([u32; 3]);

fn position(text: &str) -> Result<Position, String> {
    let mut values = [0; 3];
    let mut parts = text.split(',');
    for (value, part) in values.iter_mut().zip(parts.by_ref()) {
        *value = number(part.trim())?;
    }
    match parts.next() {
        None => Ok(Position(values)),
        Some(_) => Err("more than three numbers".to_owned()),
    }
}

/// Where results go.
struct Outputs {
    /// Buffers by their place in a set-up.
    files: Vec<(usize, PathBuf)>,
    report: Option<PathBuf>,
}

/// The program named on the command line.
fn open(args: &Args) -> Result<Opened, Failure> {
    let bytes = input::open(&args.code)?;
    let settings = args.programs.settings(&args.code, args.isa);
    let (workspace, function) = (source::workspace(), args.function.as_deref());
    let opened = emulated::program(&workspace, &args.code, &bytes, function, &settings);
    let mut opened = opened.map_err(source::installable)?;
    let program = &mut opened.program;
    if let Some(path) = &args.preamble {
        let bytes = input::open(path)?;
        let file = File::open(path, &bytes);
        program.constant_program = match file.map(|file| file.kind) {
            Ok(Kind::Listing(listing)) => listing.bytes,
            Err(error @ assay_front::Error::Listing(_)) => {
                return Err(source::failure(path, error));
            }
            _ => bytes.to_vec(),
        };
    }
    if let Some(entry) = args.entry {
        program.entry = entry;
    }
    Ok(opened)
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let opened = open(args)?;
    let (launch, arguments) = launch(args, &opened, context)?;
    let options = Options {
        arguments,
        uniforms: args.uniforms.clone(),
        scratch: args.scratch,
        max_steps: args.max_steps,
        lenient: args.lenient,
        counts: args.counts,
    };
    let cases = launch.launch.cases()?;
    if cases.len() > 1 && args.format == Format::Json {
        return Err(
            Failure::usage("--format json shows one run").advice("give each --size one value")
        );
    }
    let mut texts = Vec::new();
    let mut destination = None;
    for sizes in &cases {
        let setup = Setup::new(&options, &launch, &opened, sizes)?;
        let (text, out) = case(args, &opened.program, (setup, &launch), context)?;
        if !sizes.is_empty() {
            texts.push(format!("at {}\n", assay_launch::describe(sizes)));
        }
        texts.push(text);
        destination = out;
    }
    let context = Context {
        out: destination,
        ..context.clone()
    };
    context.write(&texts.concat())?;
    Ok(Outcome::Fine)
}

/// The launch, and arguments that are about uniforms: those of `--arg` that name a number, or bN.
fn launch(
    args: &Args,
    opened: &Opened,
    context: &Context,
) -> Result<(Launched, Vec<String>), Failure> {
    let mut flags = args.launch.clone();
    let (uniforms, named) = flags
        .arguments
        .into_iter()
        .partition(|text| emulated::is_slot(text));
    flags.arguments = named;
    let name = &opened.program.name;
    let arguments = opened.arguments.as_deref().unwrap_or_default();
    let written = flags.written()?;
    if !written.is_open() || arguments.is_empty() {
        return Ok((launch::launched(written, name, arguments)?, uniforms));
    }
    let options = args.programs.source.options(&args.code);
    let asked = Asked {
        path: &args.code,
        bytes: &opened.bytes,
        kernel: name,
        arguments,
        options,
        constants: &args.programs.values.constants,
    };
    asked.warn(context);
    Ok((asked.launch(written, context)?, uniforms))
}

/// Runs the program once: the report, and where it goes.
fn case(
    args: &Args,
    program: &Program,
    (mut setup, launched): (Setup, &Launched),
    context: &Context,
) -> Result<(String, Option<PathBuf>), Failure> {
    if let Some(Position(position)) = args.trace {
        let thread = setup.launch.thread_at(position);
        setup.launch.trace = Some(thread.ok_or_else(|| {
            Failure::usage(format!("there is no thread at {position:?} in this grid"))
        })?);
    }
    let outputs = outputs(args, &setup)?;
    let progress = Progress::new(context);
    let outcome = run_with_progress(program, &setup.launch, &setup.memory, &|done, total| {
        progress.show(done, total)
    });
    progress.clear();
    let outcome = outcome.map_err(|error| emulated::failure(&error, program, launched))?;
    for (buffer, path) in &outputs.files {
        if let Some(array) = setup.array(*buffer) {
            let mut output = Output::open(Some(path))?;
            output.write_all(&array.to_bytes())?;
            output.finish()?;
        }
    }
    let report = Report::new(program, &setup.launch, &outcome);
    let text = match args.format {
        Format::Json => Envelope::new("assay.emu", 1, report).to_json(),
        Format::Text => report.text(&context.view()),
    };
    Ok((text, outputs.report))
}

fn outputs(args: &Args, setup: &Setup) -> Result<Outputs, Failure> {
    let mut outputs = Outputs {
        files: Vec::new(),
        report: None,
    };
    for path in &args.outputs {
        let text = path.display().to_string();
        if !text.contains('=') {
            outputs.report = Some(path.clone());
            continue;
        }
        let (buffer, file) = setup.output("--out", &text)?;
        outputs.files.push((buffer, PathBuf::from(file)));
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Report>("assay.emu", 1);
    }
}

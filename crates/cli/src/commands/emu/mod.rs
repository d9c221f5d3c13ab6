//! `assay emu`: run AGX machine code.

mod program;
mod progress;
mod report;
mod setup;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::generate::CodeArgs;
use crate::launch::{self, Asked, LaunchArgs, Launched};
use assay_agx::{Binding, BoundValue, Isa, Program};
use assay_emu::{EmuError, FaultKind, run_with_progress};
use assay_report::envelope::Envelope;
use clap::ValueEnum;
use program::Opened;
use progress::Progress;
use report::Report;
use setup::Setup;
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

fn number(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("`{text}`: {error}"))
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let opened = program::open(args)?;
    let (launch, uniforms) = launch(args, &opened, context)?;
    let cases = launch.launch.cases()?;
    if cases.len() > 1 && args.format == Format::Json {
        return Err(
            Failure::usage("--format json shows one run").advice("give each --size one value")
        );
    }
    let mut texts = Vec::new();
    let mut destination = None;
    for sizes in &cases {
        let setup = Setup::new(args, &uniforms, &launch, &opened, sizes)?;
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
        .partition(|text| setup::is_slot(text));
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
    let outputs = setup.outputs(args)?;
    let progress = Progress::new(context);
    let outcome = run_with_progress(program, &setup.launch, &setup.memory, &|done, total| {
        progress.show(done, total)
    });
    progress.clear();
    let outcome = outcome.map_err(|error| failure(&error, program, launched))?;
    for (buffer, path) in &outputs.files {
        setup.save(*buffer, path)?;
    }
    let report = Report::new(program, &setup.launch, &outcome);
    let text = match args.format {
        Format::Json => Envelope::new("assay.emu", 1, report).to_json(),
        Format::Text => report.text(&Context {
            out: outputs.report.clone(),
            ..context.clone()
        }),
    };
    Ok((text, outputs.report))
}

/// The buffer that would have set the uniform a fault is about.
fn missing_buffer(kind: &FaultKind, program: &Program) -> Option<u32> {
    let FaultKind::UnsetUniform { half } = kind else {
        return None;
    };
    let holds = |binding: &&Binding| {
        let first = binding.first_half;
        (first..first.saturating_add(binding.halves)).contains(half)
    };
    let mut bindings = program.bindings.iter().filter(holds);
    bindings.find_map(|binding| match binding.value {
        BoundValue::BufferAddress { index } | BoundValue::BufferBytes { index, .. } => Some(index),
        _ => None,
    })
}

/// A failed run, as a verdict on the program or as a mistake in the command line.
fn failure(error: &EmuError, program: &Program, launched: &Launched) -> Failure {
    match error {
        EmuError::Launch(error) => Failure::usage(error.to_string()),
        EmuError::Interrupted => Failure::new(Kind::Verdict, error.to_string()),
        EmuError::Fault(fault) => {
            let missing = missing_buffer(&fault.kind, program);
            if let Some(mistake) = missing.and_then(|it| launched.missing(&program.name, it)) {
                return mistake.into();
            }
            let line = match fault.at.constant_program {
                true => None,
                false => program
                    .line_at(fault.at.offset)
                    .filter(|line| line.line > 0),
            };
            let place = line.and_then(|line| {
                let file = program.files.get(line.file as usize)?;
                Some(format!("\n  source: {file}:{}", line.line))
            });
            let failure = Failure::new(
                Kind::Verdict,
                format!("{fault}{}", place.unwrap_or_default()),
            );
            match missing {
                Some(index) => failure.advice(format!(
                    "that is [[buffer({index})]]: give it with --arg b{index}=buffer:FILE.npy"
                )),
                None => failure,
            }
        }
    }
}

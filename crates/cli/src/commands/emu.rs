//! `assay emu`: run AGX machine code.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::npy::Array;
use crate::output::Output;
use crate::{input, interrupt};
use assay_agx::{Instruction, Isa, Program};
use assay_container::Contents;
use assay_container::image::CompiledFunction;
use assay_emu::{
    BufferId, Counts, DeviceMemory, EmuError, Launch, TraceEntry, listing, run_with_progress,
};
use assay_report::envelope::Envelope;
use assay_report::table::{Column, Table};
use clap::ValueEnum;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Run AGX machine code (M1 and M2 GPUs) on the CPU and prove its waits and hints
///
/// CODE is raw machine code, a listing (`OFFSET<tab>HEX<tab>…`) or an archive. U is the
/// number of a 16-bit uniform: 0 is u0l, 4 is u2l. A register that is read before the
/// `wait` of its load, after a discard, or without having been written ends the run with
/// both instructions named, and so does an access outside the buffers given.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay emu saxpy.tsv --grid 100 --threadgroup 64 \\
      --arg 0=buffer:y.npy --arg 4=buffer:x.npy --arg 8=f32:2.5 --arg 10=u32:100 --out 0=result.npy
  assay emu kernel.bin --grid 64,64 --threadgroup 8,8 --arg 0=zeros:16384 --counts
  assay emu archive.metallib -f my_kernel --grid 32 --threadgroup 32 --trace 5")]
pub(crate) struct Args {
    /// The program; `-` is standard input
    code: PathBuf,

    /// The function to run, when the file has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    /// Threads in the grid
    #[arg(long, value_name = "X,Y,Z", value_parser = triple)]
    grid: Triple,

    /// Threads in a threadgroup
    #[arg(long, value_name = "X,Y,Z", value_parser = triple)]
    threadgroup: Triple,

    /// An argument: U=buffer:FILE.npy, U=zeros:BYTES, or a value U=TYPE:VALUE with TYPE one of
    /// u16 i16 u32 i32 u64 i64 f16 f32
    #[arg(long = "arg", value_name = "U=VALUE")]
    arguments: Vec<String>,

    /// Bytes for uniforms, in hexadecimal
    #[arg(long, value_name = "U=HEX")]
    uniforms: Vec<String>,

    /// The constant program, run once before: raw code or a listing
    #[arg(long, value_name = "FILE")]
    preamble: Option<PathBuf>,

    /// Byte offset where execution starts
    #[arg(long, value_name = "OFFSET", value_parser = number)]
    entry: Option<u32>,

    /// Threadgroup memory in bytes [default: what the file states, else 32768]
    #[arg(long, value_name = "BYTES", value_parser = number)]
    tgmem: Option<u32>,

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
    trace: Option<Triple>,

    /// Instructions one simdgroup may execute
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    max_steps: u64,

    /// Do not check waits, hints, unwritten registers, unset uniforms and mask nesting
    #[arg(long)]
    lenient: bool,

    /// Instruction set of raw code: g13 or g14, or a chip's such as g14s
    #[arg(long, value_name = "NAME", default_value = "g13")]
    isa: Isa,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Three numbers; what is left out is 1 for sizes and 0 for positions.
#[derive(Clone, Copy, Debug)]
struct Triple([u32; 3]);

fn numbers(text: &str, missing: u32) -> Result<Triple, String> {
    let mut values = [missing; 3];
    let mut parts = text.split(',');
    for (value, part) in values.iter_mut().zip(parts.by_ref()) {
        *value = number(part.trim())?;
    }
    match parts.next() {
        None => Ok(Triple(values)),
        Some(_) => Err("more than three numbers".to_owned()),
    }
}

fn triple(text: &str) -> Result<Triple, String> {
    numbers(text, 1)
}

fn position(text: &str) -> Result<Triple, String> {
    numbers(text, 0)
}

fn number(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("`{text}`: {error}"))
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let program = program(args)?;
    let mut setup = Setup::new(args)?;
    if let Some(Triple(position)) = args.trace {
        let thread = setup.launch.thread_at(position);
        setup.launch.trace = Some(thread.ok_or_else(|| {
            Failure::usage(format!("there is no thread at {position:?} in this grid"))
        })?);
    }
    let outputs = setup.outputs(args)?;
    let progress = Progress::new(context);
    let outcome = run_with_progress(&program, &setup.launch, &setup.memory, &|done, total| {
        progress.show(done, total)
    });
    progress.clear();
    let outcome = outcome.map_err(|error| failure(&error, &program))?;
    for (buffer, path) in &outputs.files {
        setup.save(*buffer, path)?;
    }
    let context = Context {
        out: outputs.report.clone(),
        ..context.clone()
    };
    let report = Report::new(&program, &setup.launch, &outcome);
    match args.format {
        Format::Json => context.write(&Envelope::new("assay.emu", 1, report).to_json())?,
        Format::Text => context.write(&report.text(&context))?,
    }
    Ok(Outcome::Fine)
}

/// A failed run, as a verdict on the program or as a mistake in the command line.
fn failure(error: &EmuError, program: &Program) -> Failure {
    match error {
        EmuError::Launch(error) => Failure::usage(error.to_string()),
        EmuError::Interrupted => Failure::new(Kind::Verdict, error.to_string()),
        EmuError::Fault(fault) => {
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
            Failure::new(
                Kind::Verdict,
                format!("{fault}{}", place.unwrap_or_default()),
            )
        }
    }
}

/// The program named on the command line.
fn program(args: &Args) -> Result<Program, Failure> {
    let bytes = input::open(&args.code)?;
    let name = args.code.display().to_string();
    let mut program = read_program(&bytes, &name, args)?;
    if let Some(path) = &args.preamble {
        let bytes = input::open(path)?;
        program.constant_program = match listing::looks_like(&bytes) {
            true => read_listing(&bytes, path)?.bytes,
            false => bytes.to_vec(),
        };
    }
    if let Some(entry) = args.entry {
        program.entry = entry;
    }
    Ok(program)
}

fn read_listing(bytes: &[u8], path: &Path) -> Result<listing::Listing, Failure> {
    let text = String::from_utf8_lossy(bytes);
    listing::parse(&text).map_err(|error| Failure::input(format!("{}: {error}", path.display())))
}

fn read_program(bytes: &[u8], name: &str, args: &Args) -> Result<Program, Failure> {
    if listing::looks_like(bytes) {
        let listing = read_listing(bytes, &args.code)?;
        return Ok(Program {
            code: listing.bytes,
            entry: listing.first,
            ..Program::new(args.isa, name)
        });
    }
    let contents = match assay_container::open(bytes) {
        Ok(Contents::Code(_)) | Err(_) => {
            return Ok(assay_container::raw_program(args.isa, name, bytes));
        }
        Ok(contents) => contents,
    };
    let mut functions = contents.compiled();
    if functions.is_empty() {
        let kind = contents.describe();
        return Err(
            Failure::input(format!("{name} is a {kind}, without machine code"))
                .advice("compile it for an M1 or M2 GPU first"),
        );
    }
    // The same function may be there for several GPUs.
    if functions.iter().any(|function| function.gpu.is_decodable()) {
        functions.retain(|function| function.gpu.is_decodable());
    }
    let named = |function: &CompiledFunction<'_>| function.name.as_deref().unwrap_or("").to_owned();
    let names: Vec<String> = functions.iter().map(|function| named(function)).collect();
    let names = || names.iter().map(String::as_str);
    let index = match &args.function {
        None if functions.len() == 1 => Some(0),
        None => {
            let listed: Vec<&str> = names().take(20).collect();
            let message = format!("{name} has {} functions", functions.len());
            return Err(Failure::usage(message)
                .advice(format!("choose one with -f: {}", listed.join(", "))));
        }
        Some(wanted) => names().position(|name| name == wanted.as_str()),
    };
    let Some(function) = index.and_then(|index| functions.get(index)) else {
        let wanted = args.function.as_deref().unwrap_or_default();
        let near = assay_container::nearest(names(), wanted, 5);
        return Err(Failure::input(format!("{name} has no function `{wanted}`"))
            .advice(format!("the nearest: {}", near.join(", "))));
    };
    let extracted = function
        .to_program()
        .map_err(|error| Failure::input(format!("{name}: {error}")))?;
    Ok(extracted.program)
}

/// Where results go.
struct Outputs {
    files: Vec<(usize, PathBuf)>,
    report: Option<PathBuf>,
}

/// A launch with its buffers.
struct Setup {
    launch: Launch,
    memory: DeviceMemory,
    buffers: Vec<Bound>,
}

/// A buffer argument.
struct Bound {
    half: u16,
    buffer: BufferId,
    descr: String,
    shape: Vec<u64>,
}

/// Splits `U=rest`.
fn place<'t>(option: &str, text: &'t str) -> Result<(u16, &'t str), Failure> {
    let parts = text.split_once('=');
    let parsed = parts.and_then(|(half, rest)| Some((number(half.trim()).ok()?, rest)));
    match parsed {
        Some((half @ 0..512, rest)) => Ok((half as u16, rest)),
        Some((half, _)) => Err(Failure::usage(format!(
            "{option} {text}: there is no uniform {half}; half uniforms go from 0 to 511"
        ))),
        None => Err(Failure::usage(format!(
            "{option} {text}: expected U=…, U a number"
        ))),
    }
}

impl Setup {
    fn new(args: &Args) -> Result<Setup, Failure> {
        let mut setup = Setup {
            launch: Launch::new(args.grid.0, args.threadgroup.0),
            memory: DeviceMemory::new(),
            buffers: Vec::new(),
        };
        setup.launch.threadgroup_bytes = args.tgmem;
        setup.launch.stack_bytes = args.scratch;
        setup.launch.max_steps = args.max_steps;
        setup.launch.lenient = args.lenient;
        setup.launch.count = args.counts;
        for argument in &args.arguments {
            let (half, value) = place("--arg", argument)?;
            setup.argument(half, value, argument)?;
        }
        for text in &args.uniforms {
            let (half, hex) = place("--uniforms", text)?;
            let bytes = unhex(hex).ok_or_else(|| {
                Failure::usage(format!("--uniforms {text}: expected hexadecimal bytes"))
            })?;
            setup.set(half, &bytes)?;
        }
        Ok(setup)
    }

    fn set(&mut self, half: u16, bytes: &[u8]) -> Result<(), Failure> {
        let uniforms = &mut self.launch.uniforms;
        uniforms
            .set_bytes(half, bytes)
            .map_err(|error| Failure::usage(error.to_string()))
    }

    fn argument(&mut self, half: u16, value: &str, whole: &str) -> Result<(), Failure> {
        let unknown = || {
            Failure::usage(format!(
                "--arg {whole}: expected buffer:FILE, zeros:BYTES or TYPE:VALUE"
            ))
            .advice("types are u16 i16 u32 i32 u64 i64 f16 f32")
        };
        let (kind, text) = value.split_once(':').ok_or_else(unknown)?;
        let bad = |error: &dyn std::fmt::Display| {
            Failure::usage(format!("--arg {whole}: `{text}`: {error}"))
        };
        macro_rules! parsed {
            ($type:ty) => {
                text.parse::<$type>()
                    .map_err(|error| bad(&error))?
                    .to_le_bytes()
                    .to_vec()
            };
        }
        let bytes = match kind {
            "buffer" => return self.buffer(half, Array::open(Path::new(text))?),
            "zeros" => {
                let bytes = number(text).map_err(|error| bad(&error))?;
                let array = Array {
                    descr: "|u1".to_owned(),
                    shape: vec![u64::from(bytes)],
                    data: vec![0; bytes as usize],
                };
                return self.buffer(half, array);
            }
            "u16" => parsed!(u16),
            "i16" => parsed!(i16),
            "u32" => parsed!(u32),
            "i32" => parsed!(i32),
            "u64" => parsed!(u64),
            "i64" => parsed!(i64),
            "f32" => parsed!(f32),
            "f16" => {
                let value = text.parse::<f32>().map_err(|error| bad(&error))?;
                assay_num::f32_to_f16(value).to_le_bytes().to_vec()
            }
            _ => return Err(unknown()),
        };
        self.set(half, &bytes)
    }

    fn buffer(&mut self, half: u16, array: Array) -> Result<(), Failure> {
        let buffer = self
            .memory
            .add(&array.data)
            .map_err(|error| Failure::usage(error.to_string()))?;
        self.set(half, &self.memory.address(buffer).to_le_bytes())?;
        self.buffers.push(Bound {
            half,
            buffer,
            descr: array.descr,
            shape: array.shape,
        });
        Ok(())
    }

    fn outputs(&self, args: &Args) -> Result<Outputs, Failure> {
        let mut outputs = Outputs {
            files: Vec::new(),
            report: None,
        };
        for text in &args.outputs {
            let shown = text.display().to_string();
            if !shown.contains('=') {
                outputs.report = Some(text.clone());
                continue;
            }
            let (half, path) = place("--out", &shown)?;
            let found = self.buffers.iter().position(|bound| bound.half == half);
            let index = found.ok_or_else(|| {
                Failure::usage(format!("--out {shown}: argument {half} is no buffer"))
                    .advice(format!("give it one with --arg {half}=buffer:FILE.npy"))
            })?;
            outputs.files.push((index, PathBuf::from(path)));
        }
        Ok(outputs)
    }

    fn save(&self, index: usize, path: &Path) -> Result<(), Failure> {
        let Some(bound) = self.buffers.get(index) else {
            return Ok(());
        };
        let array = Array {
            descr: bound.descr.clone(),
            shape: bound.shape.clone(),
            data: self.memory.bytes(bound.buffer),
        };
        let mut output = Output::open(Some(path))?;
        output.write_all(&array.to_bytes())?;
        output.finish()
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '_')
        .map(|character| character.to_digit(16))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let pairs = digits.chunks_exact(2);
    Some(pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

/// A line on standard error once a run takes long.
struct Progress {
    visible: bool,
    start: Instant,
    shown: Mutex<Option<Instant>>,
}

impl Progress {
    fn new(context: &Context) -> Progress {
        interrupt::cooperate();
        Progress {
            visible: context.progress,
            start: Instant::now(),
            shown: Mutex::new(None),
        }
    }

    /// Shows how far the run is; says whether to go on.
    fn show(&self, done: u64, total: u64) -> bool {
        let due = self.visible && self.start.elapsed() > Duration::from_secs(1);
        if due
            && let Ok(mut shown) = self.shown.try_lock()
            && shown.is_none_or(|last| last.elapsed() > Duration::from_millis(200))
        {
            *shown = Some(Instant::now());
            anstream::eprint!("\r{done} of {total} threadgroups ");
        }
        !interrupt::requested()
    }

    fn clear(&self) {
        if let Ok(shown) = self.shown.lock()
            && shown.is_some()
        {
            anstream::eprint!("\r{:40}\r", "");
        }
    }
}

/// What a run did.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report {
    /// Name of the program.
    program: String,
    /// Threads in the grid.
    grid: [u32; 3],
    /// Threads in a threadgroup.
    threadgroup: [u32; 3],
    /// Instructions executed by simdgroups.
    instructions: u64,
    /// Instructions executed by threads.
    lane_instructions: u64,
    /// Instructions executed by the constant program.
    constant_instructions: u64,
    /// Whether threadgroups ran one after another because order matters.
    in_order: bool,
    /// Executions per instruction, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<Vec<CountRow>>,
    /// What the followed thread did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    trace: Vec<TraceRow>,
}

/// Executions of one instruction.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CountRow {
    /// Byte offset.
    offset: u32,
    /// By simdgroups.
    executions: u64,
    /// By threads.
    lanes: u64,
    /// Executions with some thread inactive.
    divergent: u64,
    /// 128-byte lines of device memory touched.
    lines: u64,
    /// The instruction.
    text: String,
}

/// One instruction of the followed thread.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TraceRow {
    /// Byte offset.
    offset: u32,
    /// Whether the thread was active.
    active: bool,
    /// The instruction.
    text: String,
    /// Registers written, as `r5=0x…`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    written: Vec<String>,
}

impl Report {
    fn new(program: &Program, launch: &Launch, outcome: &assay_emu::Outcome) -> Report {
        Report {
            program: program.name.clone(),
            grid: launch.grid,
            threadgroup: launch.threadgroup,
            instructions: outcome.instructions,
            lane_instructions: outcome.lane_instructions,
            constant_instructions: outcome.constant_instructions,
            in_order: outcome.in_order,
            counts: outcome
                .counts
                .as_ref()
                .map(|counts| count_rows(program, counts)),
            trace: outcome
                .trace
                .iter()
                .map(|entry| trace_row(program, entry))
                .collect(),
        }
    }

    fn text(&self, context: &Context) -> String {
        let mut text = String::new();
        for row in &self.trace {
            let mark = if row.active { ' ' } else { '-' };
            let _ = writeln!(
                text,
                "{:>6x}:{mark} {:<56} {}",
                row.offset,
                row.text,
                row.written.join(" ")
            );
        }
        if let Some(counts) = &self.counts {
            text += &self.count_table(counts, context);
        }
        let _ = writeln!(
            text,
            "{} instructions by simdgroups, {} by threads{}{}",
            self.instructions,
            self.lane_instructions,
            match self.constant_instructions {
                0 => String::new(),
                count => format!(", {count} by the constant program"),
            },
            if self.in_order {
                "; threadgroups ran in order"
            } else {
                ""
            }
        );
        text
    }

    fn count_table(&self, counts: &[CountRow], context: &Context) -> String {
        let mut table = Table::new([
            Column::right("offset"),
            Column::right("executions"),
            Column::right("lanes"),
            Column::right("active"),
            Column::right("divergent"),
            Column::right("lines"),
            Column::left("instruction").shrink(),
        ])
        .painter(context.painter);
        for row in counts {
            let active = row.lanes as f64 / (row.executions.max(1) as f64 * 32.0);
            table.row([
                format!("{:x}", row.offset),
                row.executions.to_string(),
                row.lanes.to_string(),
                format!("{:.0} %", active * 100.0),
                row.divergent.to_string(),
                if row.lines == 0 {
                    String::new()
                } else {
                    row.lines.to_string()
                },
                row.text.clone(),
            ]);
        }
        table.render(context.width) + "\n"
    }
}

fn words(program: &Program, offset: u32) -> String {
    let rest = program.code.get(offset as usize..).unwrap_or_default();
    match Instruction::decode(program.isa, rest) {
        Ok(instruction) => instruction.words(u64::from(offset)).to_string(),
        Err(_) => String::new(),
    }
}

fn count_rows(program: &Program, counts: &Counts) -> Vec<CountRow> {
    let rows = counts.instructions.iter();
    rows.map(|(offset, count)| CountRow {
        offset: *offset,
        executions: count.executions,
        lanes: count.lanes,
        divergent: count.divergent,
        lines: count.lines,
        text: words(program, *offset),
    })
    .collect()
}

fn trace_row(program: &Program, entry: &TraceEntry) -> TraceRow {
    let written = entry.written.iter().map(|written| {
        let part = match (written.halves, written.half % 2) {
            (2, _) => "",
            (_, 0) => "l",
            _ => "h",
        };
        format!("r{}{part}={:#x}", written.half / 2, written.value)
    });
    TraceRow {
        offset: entry.offset,
        active: entry.active,
        text: words(program, entry.offset),
        written: written.collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Report>("assay.emu", 1);
    }
}

//! `assay run`: run a kernel on the CPU.

mod advice;
mod engine;
#[cfg(feature = "fleet")]
mod fleet;
mod judge;
mod reference;
mod resource_work;
mod serve;
mod work;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::ConstantArgs;
use crate::launch::{LaunchArgs, ResourceArgs};
use crate::source::{self, SourceArgs};
use assay_engine::ran::{self, Counted, Finding, Report};
use assay_launch::Target;
use assay_report::envelope::Envelope;
use std::path::PathBuf;

/// Run a kernel on the CPU, and look at what it computes
///
/// FILE is Metal source (compiled on the way), a metallib, or LLVM bitcode. Every access is checked: one outside its
/// buffer ends the run with the place in the source and the thread. Arithmetic is that of Apple GPUs; times are this
/// CPU's and say nothing about a GPU.
///
/// Random floats lie between -1 and 1, random integers are any bits. The values of --bytes lie as in a C
/// struct, each aligned to its size, the end to the largest.
///
/// Numbers of the launch may be formulas over named sizes: + - * / %, ceil_div, round_up, min, max, pow2. A source may say
/// how its kernels are dispatched, in a comment with the same flags, which is used when there is no --grid:
/// `// assay: launch KERNEL --size N=1024 --grid N --threadgroup 256 --buffer 0=zeros:f32:N`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay run saxpy.metal --grid 1024 --threadgroup 256 --buffer 0=x.npy --buffer 1=y.npy \\
      --bytes 2=f32:2.5 --bytes 3=u32:1024 --out 1=result.npy
  assay run softmax.metal --groups 8 --threadgroup 256 --buffer 0=random:f32:8x512 \\
      --buffer 1=zeros:f32:8x512 --bytes 2=u32:512 --print 1:8
  assay run mlx.metallib -f vs_Addfloat32 --grid 64 --threadgroup 64 --buffer 0=iota:f32:64 \\
      --buffer 1=iota:f32:1 --buffer 2=zeros:f32:64 --bytes 3=u32:64 --format json --print 2
  assay run kernel.metal --grid 64 --threadgroup 64 --buffer 0=random:f32:64 --check
  assay run saxpy.metal --size N=4096,1000 --grid N --threadgroup 256 --buffer 0=iota:f32:N \\
      --buffer 1=zeros:f32:N --bytes 2=f32:2.5 --bytes 3=u32:N --check
  assay run blur.metal --grid 256,256 --threadgroup 16,16 --texture 0=photo.png \\
      --texture 1=zeros:rgba8Unorm:256x256 --sampler 0=linear,clamp_to_edge \\
      --out texture:1=blurred.png
  assay run saxpy.metal --oracle 'y[i] = a * x[i] + y_before[i]'
  assay run fast.metal --against naive.metal --ulps 4
  assay run kernel.metal --expect y=reference.npy --rtol 1e-5
  assay run kernel.metal        # guesses a launch from the signature, and says it")]
pub(crate) struct Args {
    /// The file; `-` is standard input
    file: PathBuf,

    /// The kernel to run, when the file has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    /// What runs it
    #[arg(long, value_enum, default_value_t)]
    device: engine::Which,

    #[command(flatten)]
    launch: LaunchArgs,

    #[command(flatten)]
    resources: ResourceArgs,

    #[command(flatten)]
    values: ConstantArgs,

    /// Write a buffer to a file afterwards, flat and with its type, or a texture: texture:I=FILE.png or .npy, texture:I.L for
    /// its level L, a member of an argument buffer: 0.sums=FILE.npy, or a tensor: tensor:I=FILE.npy; a name without `=` is where the report goes
    #[arg(short = 'o', long = "out", id = "out", value_name = "NAME|I=FILE.npy")]
    outputs: Vec<PathBuf>,

    /// Show the first N numbers of a buffer (16 when not said)
    #[arg(long, value_name = "NAME|I[:N]", value_parser = printed)]
    print: Vec<(Target, usize)>,

    /// Run so often, each time from the same contents, and report the median
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,

    #[command(flatten)]
    right: judge::RightArgs,

    /// Look for what a kernel gets away with: accesses outside buffers and arrays, races, memory and variables read that
    /// nobody wrote, barriers, shuffles and matrix operations without all their threads; exit code 1 when something was
    /// found. The kernel is compiled for it, unoptimised, and clang's warnings are shown. A race whose values happened to
    /// be equal is a warning. Fences (atomic_thread_fence) order threadgroups as in C++
    #[arg(long, conflicts_with = "repeat", value_name = "CLASS", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "memory")]
    check: Option<CheckClass>,

    /// Count what the simdgroups do: instructions, bytes, lines of memory, active lanes, source lines
    #[arg(long, conflicts_with_all = ["repeat", "check"])]
    counts: bool,

    /// Show the counts by this
    #[arg(long, value_enum, requires = "counts", default_value_t = By::Line)]
    by: By,

    /// Count about N threadgroups, spread over the grid, instead of all
    #[arg(long, value_name = "N", requires = "counts", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,

    /// Run once on a Mac's GPU while all it does is written to a .gputrace, for Xcode and `assay trace report`
    #[arg(long, value_name = "FILE.gputrace", conflicts_with_all = ["repeat", "check", "counts", "serve"])]
    capture: Option<PathBuf>,

    /// Answer requests on standard input with what the kernel computes, as an oracle of other kernels (docs/references.md):
    /// oracle = { program = "assay run reference.metal --serve" }. The launch is a comment of the source, over named sizes
    #[arg(long, conflicts_with_all = ["repeat", "check", "counts", "out", "print"])]
    serve: bool,

    /// Threads of this CPU to use [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Operations a simdgroup may run in loops; simdgroups that run in step count as one [default: no limit]
    #[arg(long, value_name = "N", value_parser = steps)]
    max_steps: Option<u64>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    source: SourceArgs,

    #[cfg(feature = "fleet")]
    #[command(flatten)]
    fleet: crate::commands::fleet::FleetArgs,
}

/// What --check looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CheckClass {
    /// Memory, variables, and threads that meet
    Memory,
    /// Also integer divisions by zero, shifts by the width of a number or more, and floats that do not fit the integers
    /// they become
    Arithmetic,
    /// Also writes of device memory after reads that a barrier between them does not order, though the reads must be done by
    /// then
    Pedantic,
}

/// What a table of counts has a row for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// Source lines, of inlined code those of the function it came from
    #[default]
    Line,
    /// Functions
    Function,
    /// Chains of calls
    Chain,
}

impl From<By> for ran::By {
    fn from(by: By) -> Self {
        match by {
            By::Line => Self::Line,
            By::Function => Self::Function,
            By::Chain => Self::Chain,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.run.json
    Json,
}

/// Numbers shown of a buffer unless said otherwise.
const SHOWN: usize = 16;

fn steps(text: &str) -> Result<u64, String> {
    let number = text.parse();
    number.map_err(|_| format!("`{text}` is not a whole number: write --max-steps 1000000"))
}

fn printed(text: &str) -> Result<(Target, usize), String> {
    let (index, count) = match text.split_once(':') {
        Some((index, count)) => (
            index,
            count
                .parse()
                .map_err(|error| format!("`{count}`: {error}"))?,
        ),
        None => (text, SHOWN),
    };
    Ok((index.parse()?, count))
}

impl Args {
    /// Returns true if the report has room for one run.
    fn is_single(&self) -> bool {
        self.format == Format::Json
    }
}

/// What the device holds before a run by a command line.
#[cfg(test)]
pub(crate) fn starts(line: &[String]) -> Result<Vec<(u32, Vec<u8>)>, Failure> {
    work::starts(line)
}

/// What a checked run found, as the report of `assay run --check` lists it.
pub(crate) fn findings_json(reports: &[assay_device::Report]) -> serde_json::Value {
    serde_json::json!(Finding::distinct(reports, [32, 1, 1]))
}

/// What was counted, as the report of `assay run --counts` has it.
pub(crate) fn counts_json(counts: &assay_device::Counts) -> serde_json::Value {
    serde_json::json!(Counted::new(counts, ran::By::default()))
}

/// The failure of a run that a device's error is.
pub(crate) fn device_failure(error: assay_device::Error) -> Failure {
    work::failure(error)
}

/// Where results go: buffers to files, the report to another.
struct Destinations {
    files: Vec<(Target, PathBuf)>,
    /// Textures, each with a level.
    textures: Vec<(u32, u32, PathBuf)>,
    /// Members of argument buffers, by name.
    members: Vec<(String, PathBuf)>,
    report: Option<PathBuf>,
}

/// `I=FILE` or `I.LEVEL=FILE`, of a texture.
fn texture(whole: &str, rest: &str) -> Result<(u32, u32, PathBuf), Failure> {
    let bad = || {
        Failure::usage(format!(
            "--out {whole}: write texture:INDEX=FILE or texture:INDEX.LEVEL=FILE"
        ))
    };
    let (place, file) = rest.split_once('=').ok_or_else(bad)?;
    let (index, level) = place.split_once('.').unwrap_or((place, "0"));
    let numbers = index.parse().ok().zip(level.parse().ok());
    let (index, level) = numbers.ok_or_else(bad)?;
    Ok((index, level, PathBuf::from(file)))
}

fn destinations(args: &Args) -> Result<Destinations, Failure> {
    let mut destinations = Destinations {
        files: Vec::new(),
        textures: Vec::new(),
        members: Vec::new(),
        report: None,
    };
    for path in &args.outputs {
        let text = path.display().to_string();
        if !text.contains('=') {
            destinations.report = Some(path.clone());
            continue;
        }
        if let Some(rest) = text.strip_prefix("texture:") {
            destinations.textures.push(texture(&text, rest)?);
            continue;
        }
        if let Some((name, file)) = text.split_once('=')
            && (name.contains('.') || name.starts_with("tensor:"))
        {
            let file = PathBuf::from(file);
            destinations.members.push((name.to_owned(), file));
            continue;
        }
        let parts = text.split_once('=');
        let place = parts.and_then(|(index, file)| Some((index.parse().ok()?, file)));
        let (target, file): (Target, &str) = place.ok_or_else(|| {
            Failure::usage(format!(
                "--out {text}: it starts with the name or index of a buffer, and ="
            ))
            .advice("--out y=result.npy")
        })?;
        destinations.files.push((target, PathBuf::from(file)));
    }
    Ok(destinations)
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    #[cfg(feature = "fleet")]
    if args.fleet.fleet.is_some() {
        return fleet::run(args, context);
    }
    if args.serve {
        return serve::run(args, context);
    }
    let destinations = destinations(args)?;
    let reports = work::run(args, &destinations, context)?;
    let outcome = match reports.iter().any(Report::found) {
        true => Outcome::Failed,
        false => Outcome::Fine,
    };
    let context = Context {
        out: destinations.report,
        ..context.clone()
    };
    let text = match args.format {
        Format::Json => {
            let mut reports = reports.into_iter();
            match (reports.next(), reports.next()) {
                (Some(report), None) => Envelope::new("assay.run", 1, report).to_json(),
                _ => {
                    return Err(Failure::usage("--format json shows one run")
                        .advice("give each --size one value"));
                }
            }
        }
        Format::Text => {
            let texts = reports
                .iter()
                .map(|report| report.text(&context.view(), source::text));
            texts.collect::<Vec<_>>().join("\n")
        }
    };
    context.write(&text)?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<assay_engine::ran::Report>("assay.run", 1);
    }
}

//! `assay predict`: how long a kernel will take on a GPU that is not here.

mod registry;

use crate::api::{Prediction, Question};
use crate::confine;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::CodeArgs;
use crate::launch::LaunchArgs;
use crate::output::Output;
use crate::prediction::task::{self, Ask};
use crate::prediction::{self, Choice, Task, lines};
use crate::source;
use assay_engine::prediction::Document;
use assay_predict::{Cache, Picture, Sampling, Target, pictures, render};
use assay_profile::render::Sources;
use assay_report::blocks::Detail;
use assay_report::envelope::Envelope;
use std::io::Write as _;
use std::path::PathBuf;

/// Predict the GPU time of a kernel on any chip, on any machine
///
/// A sample of the kernel's threadgroups is executed here, on machine code generated for M1 and M2, and replayed on a
/// model of the chip's cores, caches and memory. The time is modelled: four of five kernels of its class lie in the
/// band. Chips from M3 on run other code than is looked at here and say so.
///
/// KERNEL is a file (Metal source, metallib, bitcode, or an archive with machine code) with a launch, or kernels of the
/// registry at their sizes. Contents of buffers are made when they are touched, so sizes cost nothing. Buffers that are
/// left out hold random numbers; if their contents decide what the kernel does, that is an error.
///
/// Constants of the model come from published measurements and a fit; a file that assay calibrate made on a Mac
/// replaces them for its chip, from its usual place or by --chip-file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay predict saxpy.metal --grid 1048576 --threadgroup 256 \\
      --buffer 0=random:f32:1048576 --buffer 1=random:f32:1048576 --bytes 2=f32:2.5 --bytes 3=u32:1048576
  assay predict matmul.metal -f matmul_tiled --grid 2048,2048 --threadgroup 16,16 --chip m1-max,m2 \\
      --bytes 3=u32:2048 --bytes 4=u32:2048 --bytes 5=u32:2048
  assay predict softmax layer_norm --chip all
  assay predict --set standard --format json -o predicted.json
  assay predict softmax --chip m2 --what-if dram_gbs=200 --cold
  assay predict matmul.metal -f matmul_tiled --format html -o core.html
  assay predict matmul.metal -f matmul_tiled --timeline core.json   # for ui.perfetto.dev")]
pub(crate) struct Args {
    /// A file with a kernel, or kernels of the registry
    #[arg(value_name = "KERNEL", conflicts_with_all = ["set", "all"])]
    kernels: Vec<String>,

    /// The function of a file, when it has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    launch: LaunchArgs,

    /// All kernels of a set of the registry; may be repeated
    #[arg(long, value_enum, value_name = "SET", conflicts_with = "all")]
    set: Vec<registry::SetName>,

    /// All kernels of the registry
    #[arg(long)]
    all: bool,

    /// Sizes of the registry's kernels: reference, quick, odd or held_out
    #[arg(
        long = "sizes",
        id = "size_set",
        value_name = "SIZES",
        default_value = "reference"
    )]
    size_set: String,

    /// Chips, separated by commas, or all
    #[arg(long, value_name = "CHIPS", default_value = assay_chip::DEFAULT_CHIP)]
    chip: String,

    /// Constants that assay calibrate measured, instead of those of its usual place
    #[arg(long, value_name = "FILE")]
    chip_file: Option<PathBuf>,

    /// With empty caches, instead of what the same command left there
    #[arg(long)]
    cold: bool,

    /// Predict with another figure of the chip (assay chips shows them) or another constant of the
    /// model; may be repeated
    #[arg(long, value_name = "FIGURE=VALUE")]
    what_if: Vec<String>,

    /// Execute at most N threadgroups
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    sample: Option<u32>,

    /// Instructions a simdgroup may execute before it counts as endless
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: Option<u64>,

    /// Dispatches of the kernel in one command buffer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    repeat: u32,

    /// Write what the simulated core does to FILE as well, as a trace that Perfetto opens
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,

    /// Every term, kernel and note instead of the first screen
    #[arg(long)]
    full: bool,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    programs: CodeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.predict.json
    Json,
    /// One page, with a picture of the simulated core
    Html,
}

impl Args {
    fn sampling(&self) -> Sampling {
        let default = Sampling::default();
        Sampling {
            threadgroups: self.sample.unwrap_or(default.threadgroups),
            max_steps: self.max_steps.unwrap_or(default.max_steps),
            ..default
        }
    }

    fn tasks(&self, context: &Context) -> Result<Vec<Task>, Failure> {
        let Some(path) = file(self) else {
            return registry::tasks(self, context);
        };
        let ask = Ask {
            function: self.function.as_deref(),
            launch: &self.launch,
            code: &self.programs,
            sampling: self.sampling(),
        };
        task::of_file(&path, &ask, context)
    }
}

/// The file that was named, if it is one; otherwise kernels of the registry are.
fn file(args: &Args) -> Option<PathBuf> {
    let [only] = args.kernels.as_slice() else {
        return None;
    };
    let path = PathBuf::from(only);
    (confine::has_file(&path) || path.extension().is_some()).then_some(path)
}

/// The document about a file, for a caller that has no flags.
pub(crate) fn document(question: Question, how: Prediction, context: &Context) -> CommandResult {
    let args = Args {
        kernels: vec![question.path.display().to_string()],
        function: question.function,
        launch: question.launch.into(),
        set: Vec::new(),
        all: false,
        size_set: String::new(),
        chip: question.chip,
        chip_file: None,
        cold: how.cold,
        what_if: how.what_if,
        sample: None,
        max_steps: None,
        repeat: how.repeat,
        timeline: None,
        full: false,
        format: Format::Json,
        programs: CodeArgs::new(question.source, question.constants),
    };
    run(&args, context)
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let choice = Choice {
        chips: &args.chip,
        what_if: &args.what_if,
        chip_file: args.chip_file.as_deref(),
    };
    let targets = choice.targets()?;
    let state = match args.cold {
        true => Cache::Cold,
        false => Cache::Warm,
    };
    let tasks = args.tasks(context)?;
    let mut report = prediction::report(&tasks, &targets, state, args.repeat)?;
    let outcome = match report.predictions.is_empty() {
        true => Outcome::Unreadable,
        false => Outcome::Fine,
    };
    // One kernel on one chip has room for its lines and a picture.
    let single = match (tasks.as_slice(), targets.as_slice()) {
        ([task], [target]) => Some((task, target)),
        _ => None,
    };
    if let (Some((task, target)), Some(only)) = (single, report.predictions.first_mut())
        && args.format != Format::Text
        && let Ok(passes) = &task.executed
    {
        let sources = sources(args);
        only.lines = lines::lines(passes, args.repeat, target, state, sources.as_ref())?;
    }
    let drawn = match single {
        Some((task, target)) if args.timeline.is_some() || args.format == Format::Html => {
            drawn(task, target, state, args)?
        }
        _ => Vec::new(),
    };
    if let Some(path) = &args.timeline {
        let only = report.predictions.first().filter(|_| single.is_some());
        let only = only.ok_or_else(|| {
            Failure::usage("--timeline shows one kernel on one chip")
                .advice("name one kernel, and one chip with --chip")
        })?;
        let mut output = Output::open(Some(path))?;
        output.write_all(render::timeline(only, &drawn).as_bytes())?;
        output.finish()?;
    }
    let text = match args.format {
        Format::Json => Envelope::new("assay.predict", 1, Document::new(report)).to_json(),
        Format::Html => render::html(&report, &drawn),
        Format::Text => {
            let detail = match args.full {
                true => Detail::Full,
                false => Detail::Screen,
            };
            render::answer(&report, detail).terminal(&context.view())
        }
    };
    context.write(&text)?;
    Ok(outcome)
}

/// The text of the file, if it is source.
fn sources(args: &Args) -> Option<Sources> {
    let path = file(args)?;
    let text = confine::read_to_string(&path)?;
    let mut sources = Sources::default();
    sources.add(&source::shown_name(&path).display().to_string(), &text);
    Some(sources)
}

/// The simulated core of every dispatch.
fn drawn(task: &Task, target: &Target, state: Cache, args: &Args) -> Result<Vec<Picture>, Failure> {
    let Ok(passes) = &task.executed else {
        return Ok(Vec::new());
    };
    let buffer = prediction::buffer(passes, args.repeat);
    let (chip, constants) = (&target.chip, &target.constants);
    pictures(&buffer, chip, constants, state).map_err(prediction::failure)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.predict", 1);
    }
}

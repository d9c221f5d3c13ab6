//! `assay bench`: is a kernel right, and how fast is it.

mod environment;
#[cfg(feature = "fleet")]
mod fleet;
mod mutants;
mod new;
pub(crate) mod world;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::prediction::Choice as Chips;
use crate::{commands::board::location, confine, input, interrupt};
use assay_bench::Dtype;
use assay_bench::registry::Set;
use assay_device::Origin;
use assay_report::blocks::Detail;
use assay_report::envelope::Envelope;
use assay_sweep::select::{self, Wanted};
use assay_sweep::{Choice, Own, Question, Saver, Target};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};

/// Examine kernels of the registry against their oracles, and time them
///
/// Every kernel gets fresh random inputs at several sizes, and every element is compared with a double-precision oracle.
/// Outputs start as NaN, buffers lie between guards, results must repeat, depend on every input that matters and replace
/// old results. Then the kernel is timed, in turns with references. On the CPU times are host times: they say nothing
/// about a GPU. What is right goes on the board at once, with its source and all samples (assay board shows it).
///
/// A reference is MLX or PyTorch if a Python here has them (ASSAY_PYTHON names one), the oracle, or a program of yours.
///
/// --source examines a file of yours in place of a kernel's own source: it must have the same functions, arguments
/// and geometry, which --describe shows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay bench softmax layer_norm
  assay bench --set standard --quick
  assay bench softmax --source my_softmax.metal
  assay bench softmax --predict m2,m1-max
  assay bench softmax --describe
  assay bench softmax --reference mlx --reference mlx-compiled --sizes reference
  assay bench softmax --reference 'cmd:./my_reference'
  assay bench softmax --reference mlx --reference-only --sizes reference
  assay bench --all --quick --format json -o bench.json
  assay bench --all --resume
  assay bench softmax --predict m2 -o bench.html
  assay bench new my_softmax --like softmax
  assay bench new my_operation --oracle expression
  assay bench mutants softmax
  assay bench --list")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Kernels of the registry
    #[arg(value_name = "NAME", conflicts_with_all = ["set", "all"])]
    names: Vec<String>,

    /// All kernels of a set; may be repeated
    #[arg(long, value_enum, value_name = "SET", conflicts_with = "all")]
    set: Vec<SetName>,

    /// All kernels
    #[arg(long)]
    all: bool,

    /// List kernels instead of running them; all of them, unless some are named
    #[arg(long, conflicts_with_all = ["describe", "source"])]
    list: bool,

    /// With --list: all of them instead of the first screen
    #[arg(long, requires = "list")]
    full: bool,

    /// Show arguments, sizes and geometry instead of running
    #[arg(long, conflicts_with = "source")]
    describe: bool,

    /// Where to run
    #[arg(long, value_enum, value_name = "DEVICE", default_value_t = DeviceName::Cpu)]
    device: DeviceName,

    /// One trial at small sizes and few samples, instead of three trials at all sizes but the largest
    #[arg(long)]
    quick: bool,

    /// Time at these sizes: reference, quick, odd or held_out
    #[arg(long, value_name = "SIZES", default_value = "quick")]
    sizes: String,

    /// Take so many samples, instead of as many as the median needs to be precise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iters: Option<u32>,

    /// Run so many times before the first sample, instead of until times are stable
    #[arg(long, value_name = "N")]
    warmup: Option<usize>,

    /// Empty caches before every sample
    #[arg(long)]
    cold_start: bool,

    /// What to compare times with: auto (MLX, or the oracle without it), none, oracle, mlx, mlx-compiled, torch,
    /// torch-compiled, or cmd:COMMAND; may be repeated [default: auto, with --quick none]
    #[arg(long, value_name = "WHAT")]
    reference: Vec<Choice>,

    /// Time the references alone, without the kernel
    #[arg(long, conflicts_with_all = ["source", "profile", "resume", "no_time", "cold_start", "board"])]
    reference_only: bool,

    /// The score that counts
    #[arg(long, value_name = "SCORE", default_value = Target::Speed.name(), value_parser = target())]
    target: Target,

    /// Add the static profile: registers, occupancy, what bounds it; modelled
    #[arg(long)]
    profile: bool,

    /// Add predicted GPU times on these chips (m2,m4, or all) at the timed sizes; modelled, and never compared with
    /// measured ones
    #[arg(long, value_name = "CHIPS")]
    predict: Option<String>,

    /// Go on with a sweep that was interrupted
    #[arg(long)]
    resume: bool,

    /// Do not put results on the board
    #[arg(long)]
    no_save: bool,

    /// The board [default: $ASSAY_BOARD, or board.db in your data folder]
    #[arg(long, value_name = "FILE", conflicts_with = "no_save")]
    board: Option<PathBuf>,

    /// Show what would be run, and do not
    #[arg(long, conflicts_with_all = ["list", "describe"])]
    dry_run: bool,

    /// How long one submission may take [default: 600, with --quick 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,

    /// Only check, do not time
    #[arg(long)]
    no_time: bool,

    /// Only variants of this element type: f32, f16 or bf16; may be repeated
    #[arg(long, value_name = "TYPE", value_parser = select::dtype)]
    dtype: Vec<Dtype>,

    /// Where random inputs come from [default: new each time, and told]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Metal source to examine in place of the kernel's own
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,

    /// The source that this chip gets, where there are several
    #[arg(long, value_name = "CHIP")]
    chip: Option<String>,

    /// Another folder of kernels, in place of those built in
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[cfg(feature = "fleet")]
    #[command(flatten)]
    fleet: crate::commands::fleet::FleetArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.bench.json
    Json,
    /// One page
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum SetName {
    /// Single operations, and convolutions with what follows them
    Common,
    /// Fused operations of neural networks
    Standard,
    /// Whole small models and layers
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceName {
    /// This machine's CPU; times are host times
    Cpu,
    /// The Mac's GPU
    Metal,
}

impl DeviceName {
    /// Whose clock times are by.
    pub(crate) const fn origin(self) -> Origin {
        match self {
            Self::Cpu => Origin::Host,
            Self::Metal => Origin::Measured,
        }
    }
}

impl SetName {
    const fn set(self) -> Set {
        match self {
            Self::Common => Set::Common,
            Self::Standard => Set::Standard,
            Self::Full => Set::Full,
        }
    }
}

fn target() -> impl TypedValueParser<Value = Target> {
    let values = Target::ALL.map(|one| PossibleValue::new(one.name()).help(one.meaning()));
    PossibleValuesParser::new(values).map(|name| Target::named(&name))
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    New(new::Args),
    Mutants(mutants::Args),
}

impl Args {
    /// The question, without what is only shown or saved.
    fn question(&self) -> Result<Question, Failure> {
        let targets = match self.predict.as_deref() {
            Some(chips) => {
                let choice = Chips {
                    chips,
                    what_if: &[],
                    chip_file: None,
                };
                choice.targets()?
            }
            None => Vec::new(),
        };
        Ok(Question {
            device: self.device.origin(),
            quick: self.quick,
            sizes: self.sizes.clone(),
            iters: self.iters,
            warmup: self.warmup,
            cold_start: self.cold_start,
            references: self.reference.clone(),
            reference_only: self.reference_only,
            target: self.target,
            profile: self.profile,
            predict: self.predict.clone(),
            targets,
            resume: self.resume,
            timeout: self.timeout,
            no_time: self.no_time,
            dtypes: self.dtype.clone(),
            seed: self.seed,
            source: self.source.as_deref().map(own),
            chip: self.chip.clone(),
            kernels: self.kernels.clone(),
        })
    }
}

/// A source of the user's; one that cannot be read is said so in its row.
fn own(path: &Path) -> Own {
    let text = match input::lent(path) {
        Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        None => confine::open(path)
            .map_err(|failure| failure.message)
            .and_then(|file| {
                std::io::read_to_string(file)
                    .map_err(|error| format!("{}: {error}", path.display()))
            }),
    };
    Own {
        path: path.to_owned(),
        text,
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: Option<f64> = text.parse().ok();
    let seconds = seconds.filter(|seconds| (0.001..=86_400.0).contains(seconds));
    seconds.ok_or_else(|| "a number of seconds, at most a day's".to_owned())
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    match &args.command {
        Some(Command::New(args)) => return new::run(args, context),
        Some(Command::Mutants(args)) => return mutants::run(args, context),
        None => {}
    }
    let chosen = select::registry(args.kernels.as_deref())?;
    let sets: Vec<Set> = args.set.iter().map(|set| set.set()).collect();
    let wanted = Wanted {
        names: &args.names,
        sets: &sets,
        all: args.all || args.list,
        dtypes: &args.dtype,
    };
    let kernels = select::kernels(wanted, &chosen)?;
    if args.list || args.describe {
        if args.format != Format::Text {
            return Err(Failure::usage(
                "--list and --describe are for people; --dry-run --format json is for programs",
            ));
        }
        let text = match args.describe {
            true => assay_sweep::describe(&kernels.sound, kernels.registry)?,
            false => {
                let detail = match args.full {
                    true => Detail::Full,
                    false => Detail::Screen,
                };
                assay_sweep::list(&kernels.sound, detail, &context.view())
            }
        };
        context.write(&text)?;
        return Ok(Outcome::Fine);
    }
    if args.dry_run {
        let planned = assay_sweep::planned(&args.question()?, &kernels)?;
        context.write(&match args.format {
            Format::Text => planned.text(),
            Format::Json => Envelope::new("assay.bench-plan", 1, &planned).to_json(),
            Format::Html => return Err(Failure::usage("--dry-run has no page: text or json")),
        })?;
        return Ok(Outcome::Fine);
    }
    #[cfg(feature = "fleet")]
    if args.fleet.fleet.is_some() {
        return fleet::run(args, &kernels, context);
    }
    let asked = args.question()?;
    let saver = match args.no_save || args.no_time || args.reference_only {
        true => Saver::nowhere(),
        false => location::saver(args.board.as_deref(), context)?,
    };
    interrupt::cooperate();
    let listener = match kernels.sound.len() {
        0 | 1 => world::Listener::quiet(context),
        _ => world::Listener::bar(context, "{pos} of {len} kernels, {msg}, {eta} to go"),
    };
    let report = assay_sweep::run(&asked, &kernels, saver, &world::world(&listener))?;
    drop(listener);
    let text = match args.format {
        Format::Text => report.text(&context.view()),
        Format::Json => Envelope::new("assay.bench", 1, &report).to_json(),
        Format::Html => report.html(),
    };
    context.write(&text)?;
    Ok(match (report.wrong, report.refused) {
        (0, 0) => Outcome::Fine,
        (0, _) => Outcome::Unreadable,
        _ => Outcome::Failed,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<assay_sweep::Report>("assay.bench", 1);
        crate::schema::check::<assay_sweep::Planned>("assay.bench-plan", 1);
        crate::schema::check::<assay_sweep::mutants::Report>("assay.bench-mutants", 1);
    }
}

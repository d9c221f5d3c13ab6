//! `assay predict`: how long a kernel will take on a GPU that is not here.

mod document;
mod inputs;
mod registry;
mod task;
mod text;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::CodeArgs;
use crate::launch::LaunchArgs;
use assay_chip::{Chip, chips};
use assay_predict::{Cache, Constants};
use assay_report::envelope::Envelope;
use document::Report;
use std::path::PathBuf;

/// Predict the GPU time of a kernel on any chip, on any machine
///
/// A sample of the kernel's threadgroups is executed here, on machine code generated for M1 and M2, and replayed on a
/// model of the chip's cores, caches and memory. The time is modelled: four of five kernels of its class lie in the
/// band. Chips from M3 on run other code than is looked at here and say so.
///
/// KERNEL is a file (Metal source, metallib, bitcode, or an archive with machine code) with a launch, or kernels of the
/// registry at their sizes. Contents of buffers are made when they are touched, so sizes cost nothing. Buffers that are
/// left out hold random numbers; if their contents decide what the kernel does, that is an error. Besides the forms that
/// assay run knows, a buffer may be index:TYPE:SHAPE:BOUND, random whole numbers below BOUND.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay predict saxpy.metal --grid 1048576 --threadgroup 256 \\
      --buffer 0=random:f32:1048576 --buffer 1=random:f32:1048576 --bytes 2=f32:2.5 --bytes 3=u32:1048576
  assay predict matmul.metal -f matmul_tiled --grid 2048,2048 --threadgroup 16,16 --chip m1-max,m2 \\
      --bytes 3=u32:2048 --bytes 4=u32:2048 --bytes 5=u32:2048
  assay predict softmax layer_norm --chip all
  assay predict --set standard --format json -o predicted.json
  assay predict softmax --chip m2 --what-if dram_gbs=200 --cold")]
pub(crate) struct Args {
    /// A file with a kernel, or kernels of the registry
    #[arg(value_name = "KERNEL", conflicts_with_all = ["set", "all"])]
    kernels: Vec<String>,

    /// The function of a file, when it has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    launch: LaunchArgs,

    /// Bytes of threadgroup memory for an argument with [[threadgroup(I)]]
    #[arg(long, value_name = "I=BYTES")]
    tgmem: Vec<String>,

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
}

/// A chip to predict for, with the constants of the model.
struct Target {
    chip: Chip,
    constants: Constants,
    /// Figures that the user changed.
    changed: Vec<String>,
}

fn targets(args: &Args) -> Result<Vec<Target>, Failure> {
    let named: Vec<Chip> = match args.chip.as_str() {
        "all" => chips().to_vec(),
        list => {
            let named = list.split(',').map(Chip::named);
            let named: Result<Vec<Chip>, _> = named.collect();
            named.map_err(|error| Failure::usage(error.to_string()))?
        }
    };
    named.into_iter().map(|chip| target(chip, args)).collect()
}

fn target(mut chip: Chip, args: &Args) -> Result<Target, Failure> {
    let mut constants = Constants::of(&chip);
    for text in &args.what_if {
        let parts = text.split_once('=');
        let (name, value) = parts.ok_or_else(|| {
            Failure::usage(format!(
                "--what-if {text}: it is FIGURE=VALUE, as in dram_gbs=200"
            ))
        })?;
        let number: Option<f64> = value.trim().parse().ok();
        let sound = number.filter(|number| *number > 0.0 && number.is_finite());
        if Constants::NAMES.contains(&name.trim()) {
            let number = sound.ok_or_else(|| {
                Failure::usage(format!("--what-if {text}: the value must be above 0"))
            })?;
            constants.set(name.trim(), number);
            continue;
        }
        chip = chip.with(text).map_err(|error| {
            let names = Constants::NAMES.join(", ");
            Failure::usage(format!("--what-if {text}: {error}"))
                .advice(format!("constants of the model are {names}"))
        })?;
    }
    Ok(Target {
        chip,
        constants,
        changed: args.what_if.clone(),
    })
}

/// The file that was named, if it is one; otherwise kernels of the registry are.
fn file(args: &Args) -> Option<PathBuf> {
    let [only] = args.kernels.as_slice() else {
        return None;
    };
    let path = PathBuf::from(only);
    (path.is_file() || path.extension().is_some()).then_some(path)
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let targets = targets(args)?;
    let state = match args.cold {
        true => Cache::Cold,
        false => Cache::Warm,
    };
    let tasks = match file(args) {
        Some(path) => task::of_file(&path, args)?,
        None => registry::tasks(args, context)?,
    };
    let report = Report::new(tasks, &targets, state, args)?;
    let outcome = match report.predictions.is_empty() {
        true => Outcome::Unreadable,
        false => Outcome::Fine,
    };
    let text = match args.format {
        Format::Json => Envelope::new("assay.predict", 1, report).to_json(),
        Format::Text => text::text(&report, context),
    };
    context.write(&text)?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::document::Report>("assay.predict", 1);
    }
}

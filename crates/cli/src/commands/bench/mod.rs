//! `assay bench`: is a kernel right, and how fast is it.

mod report;
mod select;
mod work;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_bench::Dtype;
use assay_report::envelope::Envelope;
use std::path::PathBuf;

/// Examine kernels of the registry against their oracles, and time them
///
/// Every kernel gets fresh random inputs at several sizes, and every element is compared with a double-precision oracle.
/// Outputs start as NaN, buffers lie between guards, results must repeat, depend on every input that matters and replace
/// old results. Then the kernel is timed. On the CPU times are host times: they say nothing about a GPU.
/// What is right goes on the board at once, with its source and all samples (assay board shows it).
///
/// --source examines a file of yours in place of a kernel's own source: it must have the same functions, arguments
/// and geometry, which --describe shows.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay bench softmax layer_norm
  assay bench --set standard --quick
  assay bench softmax --source my_softmax.metal
  assay bench softmax --describe
  assay bench --all --quick --format json -o bench.json
  assay bench --list")]
pub(crate) struct Args {
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

    /// Do not put results on the board
    #[arg(long)]
    no_save: bool,

    /// The board [default: $ASSAY_BOARD, or board.db in your data folder]
    #[arg(long, value_name = "FILE", conflicts_with = "no_save")]
    board: Option<PathBuf>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.bench.json
    Json,
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
enum DeviceName {
    /// This machine's CPU; times are host times
    Cpu,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let registry = select::registry(args)?;
    let registry = registry.get()?;
    let kernels = select::kernels(args, registry)?;
    if args.list || args.describe {
        if args.format == Format::Json {
            return Err(Failure::usage(
                "--list and --describe are for people; kernel.toml is for programs",
            ));
        }
        let text = match args.describe {
            true => report::describe(&kernels, registry)?,
            false => report::list(&kernels, context),
        };
        context.write(&text)?;
        return Ok(Outcome::Fine);
    }
    let report = work::run(args, registry, &kernels, context)?;
    let text = match args.format {
        Format::Text => report.text(context),
        Format::Json => Envelope::new("assay.bench", 1, &report).to_json(),
    };
    context.write(&text)?;
    Ok(match report.is_right() {
        true => Outcome::Fine,
        false => Outcome::Failed,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::report::Report>("assay.bench", 1);
    }
}

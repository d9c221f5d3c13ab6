//! `assay tune replay`: how good a search is, on spaces that somebody measured completely.

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::input;
use assay_report::envelope::Envelope;
use assay_tune::replay::{Plan, Recorded, Report, text};
use assay_tune::search::Strategy;
use std::path::{Path, PathBuf};

/// Replay searches on recorded tuning spaces
///
/// A recorded space has the time of every configuration, so a search costs nothing and can be compared with the optimum
/// and with random search. Read are cache files of Kernel Tuner, its T4 results, and rows of value indices with a time
/// (parameters, configurations), compressed by gzip or not.
///
/// With --model-error, searches are guided by a model whose predictions err by that much (the standard deviation of the
/// logarithm of predicted over true time), and a second table says whether gains that such a model claims are true.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay tune replay convolution-A100.json.gz
  assay tune replay *.json.gz --evaluations 25,50,100 --seeds 50
  assay tune replay cache.json --strategy tpe --model-error 0.35")]
pub(crate) struct Args {
    /// Recorded spaces
    #[arg(value_name = "SPACE", required = true)]
    spaces: Vec<PathBuf>,

    /// After how many evaluations to look
    #[arg(long, value_name = "N[,N...]", value_delimiter = ',', default_value = "25,50,100",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    evaluations: Vec<u32>,

    /// Searches per space, each with a seed of its own
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,

    /// How to search
    #[arg(long, value_enum, default_value_t = Which::Gaussian)]
    strategy: Which,

    /// Guide searches by a model that errs by this much, as in 0.35
    #[arg(long, value_name = "SIGMA", value_parser = sigma)]
    model_error: Option<f64>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// In random order
    Random,
    /// Tree-structured Parzen estimators over categories
    Tpe,
    /// The same, and the neighbourhood of the best
    TpePolish,
    /// A Gaussian process, and the neighbourhood of the best
    Gaussian,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.tune-replay.json
    Json,
}

impl Which {
    fn strategy(self) -> Strategy {
        match self {
            Which::Random => Strategy::Random,
            Which::Tpe => Strategy::Tpe,
            Which::TpePolish => Strategy::TpePolish,
            Which::Gaussian => Strategy::Gaussian,
        }
    }
}

fn sigma(text: &str) -> Result<f64, String> {
    let sigma: Option<f64> = text.parse().ok();
    let sound = sigma.filter(|sigma| (0.0..=3.0).contains(sigma));
    sound.ok_or_else(|| "a number from 0 to 3".to_owned())
}

pub(super) fn run(args: &Args, context: &Context) -> CommandResult {
    let spaces: Result<Vec<_>, Failure> = args.spaces.iter().map(|path| read(path)).collect();
    let plan = Plan {
        strategy: args.strategy.strategy(),
        evaluations: args
            .evaluations
            .iter()
            .map(|&count| count as usize)
            .collect(),
        seeds: args.seeds,
        model_error: args.model_error,
    };
    let report = Report::new(&spaces?, &plan);
    let shown = match args.format {
        Format::Text => text(&report, context.painter, context.width),
        Format::Json => Envelope::new("assay.tune-replay", 1, &report).to_json(),
    };
    context.write(&shown)?;
    Ok(Outcome::Fine)
}

fn read(path: &Path) -> Result<(String, Recorded), Failure> {
    let bytes = input::open(path)?;
    let recorded = Recorded::read(&bytes).map_err(|error| {
        Failure::input(format!("{}: {error}", path.display())).advice(
            "recorded spaces are cache files of Kernel Tuner, T4 results, or parameters with configurations",
        )
    })?;
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let name = name.trim_end_matches(".gz").trim_end_matches(".json");
    Ok((name.to_owned(), recorded))
}

//! The command line of a search.

use super::model_args::ModelArgs;
use crate::generate::ConstantArgs;
use crate::launch::LaunchArgs;
use crate::source::SourceArgs;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(super) struct SearchArgs {
    /// The file, or a kernel of the registry
    #[arg(value_name = "FILE|NAME", required_unless_present_any = ["all", "program"])]
    pub(super) target: Option<String>,

    /// The recording of a program (assay trace record --keep): the kernel is tuned on the launches that the program makes,
    /// weighed by how often it makes them, up to the eight that take most time; proven at these. Its source is the
    /// recording's, or FILE
    #[arg(long, value_name = "RECORDING", requires = "function", conflicts_with_all = ["all", "kernels"])]
    pub(super) program: Option<PathBuf>,

    /// Every kernel of the registry that is one dispatch, one after the other; what was finished before is told again
    #[arg(long, conflicts_with_all = ["target", "save", "patch"])]
    pub(super) all: bool,

    /// A folder of kernels (as assay write makes one), in place of those built in
    #[arg(long, value_name = "FOLDER")]
    pub(super) kernels: Option<PathBuf>,

    /// The kernel, when the file has several
    #[arg(short, long, value_name = "NAME")]
    pub(super) function: Option<String>,

    #[command(flatten)]
    pub(super) launch: LaunchArgs,

    /// A knob with its values, in place of the source's own; may be repeated
    #[arg(long = "knob", value_name = "NAME=VALUE[,VALUE...]")]
    pub(super) knobs: Vec<String>,

    /// What every configuration of knobs satisfies, as in 'TM * TN <= 16'; may be repeated
    #[arg(long, value_name = "FORMULA")]
    pub(super) restrict: Vec<String>,

    /// Search only this
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) only: Option<Only>,

    /// The chip to make it faster on
    #[arg(long, value_name = "CHIP", default_value = assay_chip::DEFAULT_CHIP)]
    pub(super) chip: String,

    /// Several chips at once: the claim is about every size on each of them, none may be slower
    #[arg(
        long,
        value_name = "CHIP,CHIP...",
        value_delimiter = ',',
        conflicts_with = "chip"
    )]
    pub(super) chips: Vec<String>,

    /// Accept that it is slower than the original at some of the sizes or chips, if it is faster on the whole
    #[arg(long)]
    pub(super) allow_slower: bool,

    /// Candidates to evaluate at most, the original included
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(super) evaluations: u32,

    /// How long to search: 90s, 5m, 1h; --resume continues where it ended
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(super) budget: Duration,

    /// Decides every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,

    /// What says whether a file's kernel is right, besides the original: an expression (y[r] = sum(c < C: x[r, c])), a NumPy
    /// file or a command, with the kernel's own names; buffers that start as zeros are outputs. Kernels of the registry
    /// have theirs
    #[arg(
        long,
        value_name = "EXPRESSION|FILE.py|COMMAND",
        conflicts_with = "reference"
    )]
    pub(super) oracle: Option<String>,

    /// What says so without an oracle
    #[arg(long, value_enum, default_value_t)]
    pub(super) reference: Reference,

    /// How far floats that are added in another order may be from the original's, relative to the largest number of their
    /// buffer [default: 1e-4; 2e-2 for 16 bits]
    #[arg(long, value_name = "RELATIVE", value_parser = tolerance)]
    pub(super) tolerance: Option<f64>,

    /// Continue the last session of the same kernel, launch, seed and evaluations; one that ended tells its result again
    #[arg(long)]
    pub(super) resume: bool,

    /// The database of attempts
    #[arg(long, value_name = "FILE")]
    pub(super) attempts: Option<PathBuf>,

    /// Write the faster kernel's source to FILE
    #[arg(long = "source", value_name = "FILE.metal")]
    pub(super) save: Option<PathBuf>,

    /// Write the difference to FILE, for patch or git apply
    #[arg(long, value_name = "FILE.patch")]
    pub(super) patch: Option<PathBuf>,

    #[command(flatten)]
    pub(super) values: ConstantArgs,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) model: Box<ModelArgs>,

    #[command(flatten)]
    pub(super) options: SourceArgs,

    /// Evaluate this candidate alone, for somebody else: a genome as JSON
    #[arg(long, value_name = "JSON", hide = true, conflicts_with_all = ["all", "save", "patch", "llm"])]
    pub(super) candidate: Option<String>,

    /// Prove the candidate instead of predicting it
    #[arg(
        long,
        value_enum,
        value_name = "LEVEL",
        hide = true,
        requires = "candidate"
    )]
    pub(super) prove: Option<LevelName>,

    #[cfg(feature = "fleet")]
    #[command(flatten)]
    pub(super) fleet: crate::commands::fleet::FleetArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LevelName {
    /// Small and odd sizes
    Quick,
    /// All sizes, several inputs
    Full,
    /// Sizes nobody has looked at
    HeldOut,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Reference {
    /// The kernel as it is
    #[default]
    Original,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Only {
    /// Values of knobs, in the source as it is
    Knobs,
    /// Rewritings, with knobs as they are
    Recipes,
    /// What language models propose, and the knobs of that
    Model,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.tune.json
    Json,
}

impl SearchArgs {
    /// The chips, the principal one first.
    pub(super) fn chips(&self) -> Vec<&str> {
        match self.chips.is_empty() {
            true => vec![&self.chip],
            false => self.chips.iter().map(String::as_str).collect(),
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("write 90s, 5m or 1h".to_owned()),
    };
    let number: Option<f64> = number.trim().parse().ok();
    let number = number.filter(|number| *number > 0.0 && *number <= 1e6);
    let number = number.ok_or("write 90s, 5m or 1h")?;
    Ok(Duration::from_secs_f64(number * seconds))
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let sound = number.filter(|number| (0.0..=1.0).contains(number));
    sound.ok_or_else(|| "a number from 0 to 1".to_owned())
}

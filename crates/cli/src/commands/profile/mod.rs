//! `assay profile`: what a kernel costs, and why.

mod all;
mod baseline;
mod screen;
mod survey;
mod timed;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::load::{self, Loaded, Place};
use crate::model::Model;
use crate::phases;
use assay_engine::profiling::{Document, lead};
use assay_profile::render::{self, Section, Sources};
use assay_profile::{Options, Profile};
use assay_report::envelope::Envelope;
use std::path::PathBuf;

/// Profile a kernel: occupancy, cycles by unit, source lines, loops, waits, bounds, findings
///
/// Takes Metal source, a metallib or bitcode, for which it generates M1/M2 code of its own
/// (Apple's compiler may choose differently, and the report says so); or machine code: a
/// binary archive or .gpubin, a GPU Mach-O, raw code, a listing with tabs (`offset ⇥ hex`),
/// assembly (.agx). Every cycle is modelled, never measured: issue slots and unit cycles
/// are good to a few per cent, latencies to 10 to 70 %, and what caches do cannot be seen
/// in code.
///
/// With a launch (flags as for assay predict, or a comment `// assay: launch` in the source) the report leads with the
/// predicted GPU time, its band and what limits it, and says which source lines take it and why. Findings are then those of
/// the launch, each with the predicted time that goes away with it; without a launch they are rules about the code alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay profile softmax.metal
  assay profile kernels.metal -f softmax --threadgroup 256 --show loops,asm
  assay profile kernels.metal -f softmax --grid 65536 --threadgroup 256 --bytes 2=u32:1024
  assay profile kernels.metal -f softmax --format html -o softmax.html
  assay profile softmax.metal --cures
  assay profile mlx.metallib -f rope_single_float32 --const 1=bool:true
  assay profile mlx.metallib --all
  assay profile kernels.gpubin -f softmax --chip m1-max
  assay profile kernels.metal --format json -o costs.json
  assay profile kernels.metal --baseline costs.json --tolerance 2")]
pub(crate) struct Args {
    /// The file; `-` is standard input
    #[arg(required_unless_present_any = ["binary", "text"], conflicts_with_all = ["binary", "text"])]
    file: Option<PathBuf>,

    /// The same as FILE
    #[arg(long, value_name = "FILE", conflicts_with = "text")]
    binary: Option<PathBuf>,

    /// Metal source instead of a file
    #[arg(long = "source", id = "text", value_name = "STRING")]
    text: Option<String>,

    #[command(flatten)]
    model: Model,

    /// A row a kernel instead of a report, however many there are: the dearest, with --full all
    #[arg(long, conflicts_with_all = ["function", "baseline", "disasm_only", "show"])]
    all: bool,

    /// With --all: exit 0 although some kernels have no code
    #[arg(long, requires = "all")]
    keep_going: bool,

    /// Only the annotated listing
    #[arg(long)]
    disasm_only: bool,

    /// Parts of the full report, separated by commas
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = parts(), conflicts_with = "disasm_only")]
    show: Vec<String>,

    /// The full report instead of its first screen
    #[arg(long, conflicts_with = "disasm_only")]
    full: bool,

    /// Apply the recipes that answer the findings, predict and prove them, and show the one that works as a line to copy;
    /// on a terminal it is done unasked [--cures=never]
    #[arg(long, value_enum, value_name = "WHEN", num_args = 0..=1, require_equals = true, default_missing_value = "always")]
    cures: Option<Cures>,

    /// Compare with an earlier `--format json` result and exit 1 when a figure changed
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Changes up to this many per cent are none
    #[arg(
        long,
        value_name = "PERCENT",
        default_value_t = 0.0,
        requires = "baseline"
    )]
    tolerance: f64,

    /// Break the cost of the source down by this, in the text
    #[arg(long, value_enum, default_value_t = By::Line)]
    by: By,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// When cures are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Cures {
    /// Whatever the output
    Always,
    /// Only the findings
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The lines, of inlined code those of the function it came from
    Line,
    /// The functions that hold the lines
    Function,
    /// The chains of calls, as a tree
    Chain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.profile.json, with --all schemas/assay.profile-all.json
    Json,
    /// With --all: one kernel a line as it is done, then the same document without them
    Jsonl,
    /// One page with the listing, the graph and the findings
    Html,
    /// The control-flow graph for Graphviz
    Dot,
}

/// The names of a report's parts.
fn parts() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Section::ALL.map(Section::name))
}

impl Args {
    /// Returns true if cures are tried for one kernel.
    fn tries_cures(&self, context: &Context) -> bool {
        match self.cures {
            Some(when) => when == Cures::Always,
            None => context.terminal && self.format == Format::Text && self.show.is_empty(),
        }
    }

    fn place(&self) -> Result<Place<'_>, Failure> {
        let file = self.file.as_ref().or(self.binary.as_ref());
        match (&self.text, file) {
            (Some(text), _) => Ok(Place::Text(text)),
            (None, Some(path)) => Ok(Place::File(path)),
            (None, None) => Err(Failure::usage("name a file")),
        }
    }
}

/// The document about a file, for a caller that has no flags.
pub(crate) fn document(file: PathBuf, model: Model, context: &Context) -> CommandResult {
    let args = Args {
        file: Some(file),
        binary: None,
        text: None,
        model,
        all: false,
        keep_going: false,
        disasm_only: false,
        show: Vec::new(),
        full: false,
        baseline: None,
        tolerance: 0.0,
        by: By::Line,
        cures: Some(Cures::Never),
        format: Format::Json,
    };
    run(&args, context)
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let place = args.place()?;
    let options = args.model.options()?;
    if args.all {
        return all::run(place, args, &options, context);
    }
    if args.format == Format::Jsonl {
        return Err(Failure::usage("--format jsonl is for --all"));
    }
    let mut phases = phases::told();
    let bytes = place.open()?;
    let loaded = load::of_bytes(place, &bytes, &args.model, &mut phases, context)?;
    if let Some(surveys) = survey::of(&loaded) {
        return survey::show(&surveys, args.format, context);
    }
    let mut profiles = phases.step("profile", || profiles(&loaded, &options, context))?;
    let shown = place.path().display().to_string();
    let sources = loaded.first().map(|one| one.sources.as_ref());
    let predicted = phases.step("predict", || {
        timed::predicted(&loaded, &mut profiles, &bytes, args, context)
    })?;
    // Findings of a launch are part of what an earlier result holds.
    if let Some(file) = &args.baseline {
        return baseline::check(&shown, &profiles, file, args, context);
    }
    let text = phases.step("render", || {
        Ok::<_, Failure>(match args.format {
            Format::Text => screen::text(&profiles, &predicted, sources, args, context),
            Format::Json | Format::Jsonl => {
                let document = Document::new(&shown, &profiles, predicted, sources);
                Envelope::new("assay.profile", 1, document).to_json()
            }
            Format::Html => {
                let none = Sources::default();
                let profile = only(&profiles, "html")?;
                let time = predicted.first().and_then(Option::as_ref);
                let lead = lead(profile, time, sources);
                render::html_with_time(profile, sources.unwrap_or(&none), Some(&lead))
            }
            Format::Dot => render::dot(only(&profiles, "dot")?),
        })
    })?;
    context.write(&text)?;
    phases::show(&phases, context);
    Ok(Outcome::Fine)
}

/// Profiles every program; one that cannot be is an error only when it is alone.
fn profiles(
    loaded: &[Loaded],
    options: &Options,
    context: &Context,
) -> Result<Vec<Profile>, Failure> {
    let mut profiles = Vec::with_capacity(loaded.len());
    for program in loaded {
        match program.profile(options) {
            Ok(profile) => profiles.push(profile),
            Err(failure) if loaded.len() == 1 => return Err(failure),
            Err(failure) => {
                context.note(&format!("{}: {}", program.program.name, failure.message));
            }
        }
    }
    if profiles.is_empty() {
        return Err(Failure::input("no function could be profiled"));
    }
    Ok(profiles)
}

fn only<'p>(profiles: &'p [Profile], format: &str) -> Result<&'p Profile, Failure> {
    match profiles {
        [profile] => Ok(profile),
        _ => {
            let names: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
            Err(Failure::usage(format!(
                "--format {format} shows one function, and there are {}: {}",
                profiles.len(),
                names.join(", ")
            ))
            .advice("name one with -f"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_current() {
        crate::schema::check::<Document<'_>>("assay.profile", 1);
    }
}

//! `assay profile`: what a kernel costs, and why.

mod baseline;
mod document;
pub(crate) mod load;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use assay_profile::render::{self, Style};
use assay_profile::{Options, Profile};
use assay_report::envelope::Envelope;
use document::Document;
use load::{Loaded, Model};
use std::path::PathBuf;

/// Profile a kernel's machine code: occupancy, cycles by unit, loops, waits, bounds, findings
///
/// Takes raw code, a binary archive or .gpubin, a GPU Mach-O, a listing with tabs
/// (`offset ⇥ hex`), or assembly (.agx). Every cycle is modelled, never measured: issue
/// slots and unit cycles are good to a few per cent, latencies to 10 to 70 %, and what
/// caches do cannot be seen in code.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay profile kernel.bin
  assay profile kernels.gpubin -f softmax --chip m1-max --threadgroup 256
  assay profile kernel.bin --show-disasm
  assay profile kernel.bin --format html -o kernel.html
  assay profile kernels.gpubin --format json -o costs.json
  assay profile kernels.gpubin --baseline costs.json --tolerance 2")]
pub(crate) struct Args {
    /// The file; `-` is standard input
    #[arg(required_unless_present = "binary", conflicts_with = "binary")]
    file: Option<PathBuf>,

    /// The same as FILE
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,

    #[command(flatten)]
    model: Model,

    /// Only the annotated listing
    #[arg(long)]
    disasm_only: bool,

    /// Add the annotated listing to the report
    #[arg(long)]
    show_disasm: bool,

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

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.profile.json
    Json,
    /// One page with the listing, the graph and the findings
    Html,
    /// The control-flow graph for Graphviz
    Dot,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let path = args
        .file
        .as_ref()
        .or(args.binary.as_ref())
        .ok_or_else(|| Failure::usage("name a file"))?;
    let options = args.model.options()?;
    let loaded = load::programs(path, args.model.function.as_deref(), args.model.isa)?;
    let profiles = profiles(&loaded, &options, context)?;
    if let Some(file) = &args.baseline {
        let shown = path.display().to_string();
        return baseline::check(&shown, &profiles, file, args, context);
    }
    let text = match args.format {
        Format::Text => text(&profiles, args, context),
        Format::Json => {
            let document = Document::new(&path.display().to_string(), &profiles);
            Envelope::new("assay.profile", 1, document).to_json()
        }
        Format::Html => render::html(only(&profiles, "html")?),
        Format::Dot => render::dot(only(&profiles, "dot")?),
    };
    context.write(&text)?;
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

fn text(profiles: &[Profile], args: &Args, context: &Context) -> String {
    let style = Style {
        painter: context.painter,
        width: context.width,
        listing: args.show_disasm,
    };
    let texts: Vec<String> = profiles
        .iter()
        .map(|profile| match args.disasm_only {
            true => render::listing(&profile.main, &style),
            false => render::text(profile, &style),
        })
        .collect();
    texts.join("\n")
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

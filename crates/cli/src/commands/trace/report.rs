//! `assay trace report`.

use super::inputs;
use super::known::Known;
use super::modelled::Modelled;
use super::selection::Selection;
use crate::context::{Context, Verbosity};
use crate::failure::{CommandResult, Failure, Outcome};
use assay_report::blocks::Detail;
use assay_report::envelope::Envelope;
use assay_trace::{
    Options, Recording, TextStyle, VerdictKind, analyze, report_html, report_markdown, report_text,
};
use std::path::PathBuf;

/// Say where the GPU's time went, and what to do about it
///
/// Inputs are files exported with `xctrace export` (any name, also .gz and .zst), a folder of them, a
/// .gputrace bundle, a recording of the timing library, a recording of a program (assay metal run
/// --record), whose GPU times are modelled, or - for standard input. The exit code is 1 when the target
/// did no GPU work.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay trace report exported-tables/
  assay trace report toc.xml metal-gpu-intervals.xml.gz metal-command-buffer-completed.xml
  zstdcat intervals.xml.zst | assay trace report --process my-program -
  assay trace report --from 1.2s --to 1.8s --format json exported-tables/
  assay trace report --work flops.csv --baseline MLX=mlx-tables/ --format markdown exported-tables/
  assay trace report --chip m2,m4-max --step 128 run.recording
  assay trace report kernel.gputrace")]
pub(crate) struct Args {
    /// Exported tables, folders of them, bundles, or -
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    /// How to show the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Rows per table in the text report
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Everything instead of the first screen
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    modelled: Modelled,

    #[command(flatten)]
    known: Known,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For a terminal
    Text,
    /// For programs: schema assay.trace
    Json,
    /// A profiling-results document
    Markdown,
    /// A page with a zoomable timeline
    Html,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let recording = inputs::load(&args.inputs, args.selection.run, &args.modelled, context)?;
    let options = args.selection.options();
    let options = args.known.add_to(options, &args.modelled, context)?;
    let rows = (args.top, args.full);
    show(&recording, &options, args.format, rows, context)
}

/// Shows a recording; exit code 1 when its target did no GPU work.
pub(crate) fn show(
    recording: &Recording,
    options: &Options,
    format: Format,
    (top, full): (usize, bool),
    context: &Context,
) -> CommandResult {
    let fail = |error| -> Failure { inputs::failure(error, None) };
    let analysis = match format {
        Format::Text => {
            let detail = match full || context.verbosity == Verbosity::Verbose {
                true => Detail::Full,
                false => Detail::Screen,
            };
            let style = TextStyle {
                detail,
                width: context.width,
                painter: context.painter,
                top,
                verbose: context.verbosity == Verbosity::Verbose,
            };
            let (analysis, text) = report_text(recording, options, style).map_err(fail)?;
            context.write(&text)?;
            analysis
        }
        Format::Json => {
            let analysis = analyze(recording, options).map_err(fail)?;
            let capture = recording.capture.as_deref();
            let body = assay_trace::document::Document {
                analysis: analysis.clone(),
                capture: capture.cloned(),
            };
            context.write(&Envelope::new("assay.trace", 1, body).to_json())?;
            analysis
        }
        Format::Markdown => {
            let analysis = analyze(recording, options).map_err(fail)?;
            context.write(&report_markdown(&analysis))?;
            analysis
        }
        Format::Html => {
            let (analysis, page) = report_html(recording, options).map_err(fail)?;
            context.write(&page)?;
            analysis
        }
    };
    Ok(if analysis.verdict.kind == VerdictKind::NoGpuWork {
        Outcome::Failed
    } else {
        Outcome::Fine
    })
}

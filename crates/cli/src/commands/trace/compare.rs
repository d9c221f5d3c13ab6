//! `assay trace compare`.

use super::inputs;
use super::modelled::Modelled;
use super::selection::Selection;
use crate::context::{Context, Verbosity};
use crate::failure::{CommandResult, Outcome};
use assay_report::blocks::Detail;
use assay_report::envelope::Envelope;
use assay_trace::{
    CompareOptions, Gate, TextStyle, compare, compare_html, compare_markdown, compare_text,
};
use std::path::PathBuf;

/// Compare two runs: before and after, eager and compiled, ours and theirs
///
/// Figures are compared per step. Steps are found from the repeating pattern of labels, or given
/// with --steps. A change counts when it exceeds the noise within the runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay trace compare before/ after/
  assay trace compare eager/ compiled/ --steps 100
  assay trace compare eager/ compiled/ --format html -o compare.html
  assay trace compare before/ after/ --steps 1000,800 --fail-on slower:5%
  assay trace compare base.recording head.recording --chip m2 --fail-on slower:5% --fail-on bytes:0%
  assay trace compare run.recording run.recording --chip m2,m4-max")]
pub(crate) struct Args {
    /// The first run: a folder of exported tables, or one file
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// The second run
    #[arg(value_name = "AFTER")]
    after: PathBuf,

    /// Steps (tokens, iterations) in each run: one number, or two like 1000,800
    #[arg(long, value_name = "N[,N]", value_parser = parse_steps)]
    steps: Option<(u64, u64)>,

    /// Exit with 1 when a limit is exceeded by more than noise: slower, busy, idle, executions,
    /// buffers or latency, of a program's recordings dispatches or bytes, with a percentage, like
    /// slower:5%
    #[arg(long, value_name = "LIMIT", value_parser = parse_gate)]
    fail_on: Vec<Gate>,

    /// Let limits count for changes within the noise of the runs, too
    #[arg(long, requires = "fail_on")]
    strict: bool,

    /// How to show the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Labels shown in the text report
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,

    /// Everything instead of the first screen
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten)]
    modelled: Modelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// For programs: schema assay.trace.compare
    Json,
    /// For documents
    Markdown,
    /// A page with both timelines on one axis
    Html,
}

fn parse_gate(text: &str) -> Result<Gate, String> {
    text.parse()
}

fn parse_steps(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| match text.trim().parse::<u64>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("{text} is not a number of steps")),
    };
    match text.split_once(',') {
        Some((before, after)) => Ok((number(before)?, number(after)?)),
        None => number(text).map(|count| (count, count)),
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let [one, other] = args.modelled.of_two();
    let load = |path: &PathBuf, modelled: &Modelled| {
        let run = args.selection.run;
        inputs::load(std::slice::from_ref(path), run, modelled, context)
    };
    let before = load(&args.before, &one)?;
    let after = load(&args.after, &other)?;
    let options = CompareOptions {
        examine: args.selection.options(),
        steps_before: args.steps.map(|steps| steps.0),
        steps_after: args.steps.map(|steps| steps.1),
        gates: args.fail_on.clone(),
        strict: args.strict,
    };
    let fail = |error| inputs::failure(error, None);
    let (comparison, page) = match args.format {
        Format::Html => {
            let (comparison, page) = compare_html(&before, &after, &options).map_err(fail)?;
            (comparison, Some(page))
        }
        _ => (compare(&before, &after, &options).map_err(fail)?, None),
    };
    let failed = comparison.gates.iter().any(|gate| gate.failed);
    match args.format {
        Format::Text => {
            let detail = match args.full || context.verbosity == Verbosity::Verbose {
                true => Detail::Full,
                false => Detail::Screen,
            };
            let style = TextStyle {
                detail,
                width: context.width,
                painter: context.painter,
                top: args.top,
                verbose: context.verbosity == Verbosity::Verbose,
            };
            context.write(&compare_text(&comparison, style))?;
        }
        Format::Json => {
            context.write(&Envelope::new("assay.trace.compare", 1, comparison).to_json())?;
        }
        Format::Markdown => context.write(&compare_markdown(&comparison))?,
        Format::Html => context.write(&page.unwrap_or_default())?,
    }
    Ok(if failed {
        Outcome::Failed
    } else {
        Outcome::Fine
    })
}

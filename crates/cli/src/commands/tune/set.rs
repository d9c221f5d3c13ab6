//! `assay tune --all`: every kernel of the registry, one session each, resumable.

use super::args::{Format, SearchArgs};
use super::drive::Finished;
use super::model;
use super::search::{self, Kernels};
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use crate::interrupt;
use assay_report::envelope::Envelope;
use assay_report::table::{Column, Table};
use serde::Serialize;

/// What became of a set of kernels.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Document {
    /// The chip.
    chip: String,
    /// Where times come from: `modelled`.
    basis: &'static str,
    /// The kernels, in order.
    kernels: Vec<Row>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    /// The kernel.
    kernel: String,
    /// A faster one was found and proven.
    improved: bool,
    /// The gain that is claimed; 1 if nothing was kept.
    claimed_gain: f64,
    /// The session in the database of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<i64>,
    /// Why nothing was kept, or why there was no session.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Tunes all kernels; one that cannot be tuned does not keep the others from it.
pub(super) fn run(args: &SearchArgs, context: &Context) -> CommandResult {
    let registry = Kernels::of(args)?;
    let registry = registry.get()?;
    let ledger = model::ledger(&args.model);
    let mut kernels = Vec::new();
    for kernel in registry.kernels() {
        if interrupt::requested() {
            break;
        }
        let finished = search::of_registry(args, (registry, &kernel.name), context, &ledger);
        let row = match finished {
            // One candidate is of one kernel.
            Ok(Finished::Candidate(_)) => continue,
            Ok(Finished::Session { report, .. }) => Row {
                kernel: kernel.name.clone(),
                improved: report.improved,
                claimed_gain: report.claimed_gain,
                session: Some(report.session),
                why: (!report.improved).then(|| report.reason.clone()),
            },
            // Nobody answers, or somebody pressed Ctrl-C: the next kernel would fare no better.
            Err(failure) if ends_all(&failure) => return Err(failure),
            Err(failure) => Row {
                kernel: kernel.name.clone(),
                improved: false,
                claimed_gain: 1.0,
                session: None,
                why: Some(failure.message),
            },
        };
        context.note(&line(&row));
        kernels.push(row);
    }
    let document = Document {
        chip: args.chips().join(", "),
        basis: "modelled",
        kernels,
    };
    let shown = match args.format {
        Format::Json => Envelope::new("assay.tune-set", 1, &document).to_json(),
        Format::Text => table(&document, context),
    };
    context.write(&shown)?;
    Ok(Outcome::Fine)
}

fn ends_all(failure: &Failure) -> bool {
    let running = failure.message.ends_with("is running in another process");
    failure.kind == Kind::Interrupted || (failure.kind == Kind::Missing && !running)
}

fn line(row: &Row) -> String {
    match (&row.why, row.improved) {
        (_, true) => format!(
            "{}: at least {:.2} times as fast",
            row.kernel, row.claimed_gain
        ),
        (why, _) => format!(
            "{}: {}",
            row.kernel,
            why.as_deref().unwrap_or("nothing kept")
        ),
    }
}

fn table(document: &Document, context: &Context) -> String {
    let columns = [
        Column::left("kernel"),
        Column::right("gain"),
        Column::right("session"),
        Column::left("why"),
    ];
    let mut table = Table::new(columns).painter(context.painter);
    for row in &document.kernels {
        table.row([
            row.kernel.clone(),
            format!("{:.2}×", row.claimed_gain),
            row.session
                .map_or(String::new(), |session| session.to_string()),
            row.why.clone().unwrap_or_default(),
        ]);
    }
    table.render(context.width)
}

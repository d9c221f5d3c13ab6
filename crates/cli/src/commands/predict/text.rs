//! Predictions for people.

use super::document::{Predicted, Report};
use crate::context::Context;
use assay_report::bar::bar;
use assay_report::style::Role;
use assay_report::table::{Column, Table};
use std::fmt::Write as _;

/// Columns of a bar.
const BAR: usize = 24;

/// Predictions of one kernel in full, of several as a table.
pub(super) fn text(report: &Report, context: &Context) -> String {
    let mut out = String::new();
    match report.predictions.as_slice() {
        [only] => one(&mut out, only, context),
        many => table(&mut out, many, context),
    }
    if !report.refused.is_empty() {
        let _ = writeln!(out, "\nNo prediction:");
        for refused in &report.refused {
            let chip = refused.chip.as_deref();
            let chip = chip.map_or(String::new(), |chip| format!(" on {chip}"));
            let _ = writeln!(out, "  {}{chip}: {}", refused.kernel, refused.reason);
        }
    }
    out
}

/// A time with a unit that suits it.
fn time(us: f64) -> String {
    assay_report::number::nanoseconds(us * 1e3)
}

fn one(out: &mut String, predicted: &Predicted, context: &Context) {
    let painter = context.painter;
    let headline = format!(
        "{} on {} ({} cores): {} ({} to {}), limited by {}",
        predicted.kernel,
        predicted.chip,
        predicted.cores,
        time(predicted.time_us),
        time(predicted.low_us),
        time(predicted.high_us),
        predicted.limited_by
    );
    let _ = writeln!(out, "{}", painter.paint(Role::Heading, &headline));
    let _ = writeln!(
        out,
        "modelled ({}), {} caches, class {}, {} of {} threadgroups executed, code: {}",
        predicted.model,
        predicted.state,
        predicted.class,
        predicted.sampled,
        assay_report::number::grouped(predicted.threadgroups),
        predicted.code
    );
    let _ = writeln!(out, "\nWhere the time goes");
    for term in &predicted.terms {
        let share = term.us / predicted.time_us.max(f64::MIN_POSITIVE);
        if share < 0.005 {
            continue;
        }
        let _ = writeln!(
            out,
            "  {:20} {:>10}  {:>4.0} %  {}",
            term.name,
            time(term.us),
            100.0 * share,
            bar(share, BAR)
        );
    }
    let useful: Vec<_> = predicted
        .doubled
        .iter()
        .filter(|doubled| doubled.time_us < 0.97 * predicted.time_us)
        .take(4)
        .collect();
    let _ = writeln!(out, "\nTwice as much would bring");
    for doubled in &useful {
        let faster = predicted.time_us / doubled.time_us.max(f64::MIN_POSITIVE);
        let _ = writeln!(
            out,
            "  {:40} {:>10}  {faster:.2} times as fast",
            doubled.resource,
            time(doubled.time_us)
        );
    }
    if useful.is_empty() {
        let _ = writeln!(
            out,
            "  nothing of any one resource: overheads and latencies count"
        );
    }
    for note in &predicted.notes {
        let _ = writeln!(out, "\nnote: {note}");
    }
}

fn table(out: &mut String, predictions: &[Predicted], context: &Context) {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("chip"),
        Column::right("time"),
        Column::right("from"),
        Column::right("to"),
        Column::left("limited by"),
        Column::left("class"),
    ])
    .painter(context.painter);
    for predicted in predictions {
        let mark = if predicted.code.contains("stand-in") {
            " *"
        } else {
            ""
        };
        table.row([
            predicted.kernel.clone(),
            format!("{}{mark}", predicted.chip),
            time(predicted.time_us),
            time(predicted.low_us),
            time(predicted.high_us),
            predicted.limited_by.clone(),
            predicted.class.clone(),
        ]);
    }
    out.push_str(&table.render(context.width));
    if predictions.iter().any(|p| p.code.contains("stand-in")) {
        let _ = writeln!(
            out,
            "* code for M1 and M2 as a stand-in: this chip runs another instruction set"
        );
    }
    let _ = writeln!(
        out,
        "modelled; four of five kernels of a class lie between from and to"
    );
}

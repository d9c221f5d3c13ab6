//! A comparison as one HTML file: what changed, and both timelines on the same axis.

use super::compare_text::{change, judgement, label_rows, number, role, side};
use super::html::{table, warnings};
use super::timeline;
use super::timeline_data::Drawn;
use crate::analysis::gaps;
use crate::analysis::view::View;
use crate::compare::document::{Comparison, Metric, Side};
use crate::compare::{CompareOptions, compare};
use crate::error::Error;
use crate::recording::Recording;
use assay_report::html::{escape, page};
use assay_report::style::Role;
use std::fmt::Write;

/// The comparison of two recordings as a page.
pub fn compare_html(
    before: &Recording,
    after: &Recording,
    options: &CompareOptions,
) -> Result<(Comparison, String), Error> {
    let comparison = compare(before, after, options)?;
    let views = [
        View::new(before, &options.examine)?,
        View::new(after, &options.examine)?,
    ];
    let gaps = views.each_ref().map(gaps::find);
    let mut body = String::from("<h1>Comparison of two runs</h1>\n");
    head(&mut body, &comparison);
    metrics(&mut body, &comparison);
    let step = |side: &Side| Some(side.window_ms * 1e6 / side.steps.filter(|&steps| steps > 0.0)?);
    let drawn = |which: usize, name: &'static str, of: &Side| Drawn {
        view: &views[which],
        gaps: &gaps[which],
        title: Some((name, title(name, of))),
        step: step(of),
    };
    timeline::section(
        &mut body,
        &[
            drawn(0, "before", &comparison.before),
            drawn(1, "after", &comparison.after),
        ],
    );
    labels(&mut body, &comparison);
    fusion(&mut body, &comparison);
    warnings(&mut body, &comparison.warnings);
    let page = page(
        "Comparison of two runs",
        timeline::STYLE,
        &body,
        timeline::SCRIPT,
    );
    Ok((comparison, page))
}

/// The line above a run's lanes.
fn title(name: &str, side: &Side) -> String {
    let target = side.target.as_deref().unwrap_or("unknown process");
    format!(
        "{name}: {target}, {:.3} ms, busy {:.1} %",
        side.window_ms,
        side.utilization * 100.0
    )
}

fn head(out: &mut String, comparison: &Comparison) {
    out.push_str("<div class=\"verdict\"><ul>\n");
    for (name, run) in [("before", &comparison.before), ("after", &comparison.after)] {
        let _ = writeln!(out, "<li>{}</li>", escape(&side(name, run)));
    }
    let fusion = &comparison.fusion;
    let _ = writeln!(
        out,
        "<li>Fusion <b>{}</b> (by counts and names: {}): {}</li>",
        escape(&fusion.state),
        escape(&fusion.happened),
        escape(&fusion.explanation)
    );
    for gate in &comparison.gates {
        let (class, word) = match gate.failed {
            true => ("bad", "failed"),
            false => ("good", "passed"),
        };
        let _ = writeln!(
            out,
            "<li>gate <code>{}</code> <b class=\"{class}\">{word}</b>: {}</li>",
            escape(&gate.gate),
            escape(&gate.explanation)
        );
    }
    out.push_str("</ul></div>\n");
}

fn metrics(out: &mut String, comparison: &Comparison) {
    let _ = writeln!(
        out,
        "<h2 id=\"change\">Change {}</h2>\n<p class=\"dim\">{}</p>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"change\">\
         <table class=stack><thead><tr><th scope=\"col\"></th><th scope=\"col\" class=\"n\">before</th><th scope=\"col\" class=\"n\">after</th>\
         <th scope=\"col\" class=\"n\">change</th><th scope=\"col\"></th></tr></thead><tbody>",
        escape(&comparison.normalised),
        escape(&comparison.normalised_by)
    );
    let class = |metric: &Metric| match role(metric) {
        Role::Good => "n good",
        Role::Bad => "n bad",
        _ => "n dim",
    };
    for metric in &comparison.metrics {
        let _ = writeln!(
            out,
            "<tr><td class=all>{}</td><td class=\"n\" data-h=before>{}</td><td class=\"n\" data-h=after>{}</td><td class=\"{}\">{}</td>\
             <td class=\"dim\">{}</td></tr>",
            escape(&metric.description),
            number(metric.before, &metric.unit),
            number(metric.after, &metric.unit),
            class(metric),
            change(metric.change),
            judgement(metric)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

/// Labels shown.
const MOST_LABELS: usize = 40;

fn labels(out: &mut String, comparison: &Comparison) {
    let rows: Vec<Vec<String>> = label_rows(&comparison.labels)
        .take(MOST_LABELS)
        .map(Vec::from)
        .collect();
    table(
        out,
        "GPU time by label",
        &[
            "label",
            "count before",
            "after",
            "time before",
            "after",
            "change",
        ],
        &rows,
    );
}

fn fusion(out: &mut String, comparison: &Comparison) {
    if comparison.fusion.evidence.is_empty() {
        return;
    }
    out.push_str("<h2>Fusion</h2>\n<ul>\n");
    for line in &comparison.fusion.evidence {
        let _ = writeln!(out, "<li>{}</li>", escape(line));
    }
    out.push_str("</ul>\n");
}

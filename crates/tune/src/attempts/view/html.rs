//! A session as one page: times over attempts, the tree, terms before and after, differences of sources.

use super::markdown::{expects, fate};
use super::text::what;
use super::{Row, Tree, View};
use crate::attempts::Outcome;
use crate::diff::{Line, lines};
use crate::report::terms;
use assay_report::chart::{self, Chart, Point};
use assay_report::html::{escape, page};
use assay_report::number::nanoseconds;
use std::fmt::Write as _;

const STYLE: &str = "
ul.tree, ul.tree ul { list-style: none; margin: 0; padding-left: 1.2rem; border-left: 1px solid var(--line); }
ul.tree li { padding: .05rem 0; }
details.diff pre { background: var(--panel); padding: .6rem; overflow-x: auto; }
.add { color: var(--good); } .del { color: var(--bad); }
.kept { font-weight: 600; color: var(--good); }
.wide { overflow-x: auto; }
svg.chart circle.failed { fill: var(--bad); } svg.chart circle.kept { fill: var(--good); }
";

/// Attempts whose sources are compared with the original's, the fastest first.
const DIFFS: usize = 6;

/// The page of a session.
pub fn html(view: &View) -> String {
    let Some(session) = view.sessions.first() else {
        return page("No attempts", "", "<h1>No attempts</h1>", "");
    };
    let winner = session.kept();
    let mut body = format!(
        "<h1>{} on {}</h1>\n<p class=\"dim\">session {}, seed {}, {} attempts, {} failed; times are modelled</p>\n",
        escape(&session.kernel),
        escape(&session.chip),
        session.id,
        escape(&session.seed),
        session.attempts,
        session.failed
    );
    if let Some(decision) = &session.decision {
        let _ = writeln!(body, "<p>{}</p>", escape(&decision.reason));
    }
    body += "<h2>Predicted time over attempts</h2>\n<div class=\"wide\">";
    body += &progress(view, winner);
    body += "</div>\n";
    let original = view.attempts.iter().find(|row| row.ordinal == 0);
    let best = view.attempts.iter().find(|row| Some(row.ordinal) == winner);
    if let (Some(original), Some(best)) = (original, best) {
        body += &changed(original, best);
    }
    body += "<h2>Tree of attempts</h2>\n<div class=\"wide\"><ul class=\"tree\">\n";
    let tree = Tree::new(view);
    for root in &tree.roots {
        branch(&tree, root, winner, &mut body);
    }
    body += "</ul></div>\n";
    body += &asked(view);
    body += &differences(view, original);
    let style = format!("{}{STYLE}", chart::STYLE);
    page(&format!("{}: attempts", session.kernel), &style, &body, "")
}

/// What models were asked, and what became of their proposals.
fn asked(view: &View) -> String {
    if view.calls.is_empty() {
        return String::new();
    }
    let mut text = "<h2>Language models</h2>\n<div class=\"wide\"><table><tr><th>call</th><th>model</th><th>tokens</th>\
        <th>proposal</th><th>expects</th><th>outcome</th></tr>\n"
        .to_owned();
    for call in &view.calls {
        let head = format!(
            "<td>{}</td><td>{}</td><td>{} + {}</td>",
            call.number,
            escape(&call.model),
            call.input_tokens,
            call.output_tokens
        );
        if let Some(error) = &call.error {
            let _ = writeln!(
                text,
                "<tr>{head}<td></td><td></td><td>{}</td></tr>",
                escape(error)
            );
        }
        for proposal in &call.proposals {
            let _ = writeln!(
                text,
                "<tr>{head}<td>{}<br><code>{}</code></td><td>{}</td><td>{}</td></tr>",
                escape(&proposal.technique),
                escape(&proposal.genome),
                escape(&expects(proposal)),
                escape(&fate(view, proposal))
            );
        }
    }
    text + "</table></div>\n"
}

fn progress(view: &View, winner: Option<u32>) -> String {
    let mut best: Vec<(f64, f64)> = Vec::new();
    let mut points = Vec::new();
    let mut least = f64::INFINITY;
    for row in &view.attempts {
        let Some(time) = row.time() else { continue };
        let x = f64::from(row.ordinal) + 1.0;
        least = least.min(time);
        best.push((x, least));
        points.push(Point {
            x,
            y: time,
            class: if Some(row.ordinal) == winner {
                "kept"
            } else {
                ""
            },
            title: format!(
                "{}: {} {}",
                row.ordinal,
                row.genome,
                nanoseconds(time * 1e3)
            ),
            ..Point::default()
        });
    }
    let chart = Chart {
        x: "attempt".to_owned(),
        y: "µs".to_owned(),
        lines: vec![best],
        points,
    };
    chart.svg("predicted time of every attempt, and the fastest so far")
}

/// Terms of the winner beside the original's.
fn changed(original: &Row, best: &Row) -> String {
    let of = |row: &Row| match &row.outcome {
        Outcome::Timed(prediction) => Some(prediction.clone()),
        Outcome::Failed(_) => None,
    };
    let (before, after) = (of(original), of(best));
    let mut out = String::from(
        "<h2>Where the time goes</h2>\n<div class=\"wide\"><table>\n<tr><th>term</th><th class=\"n\">before</th><th class=\"n\">after</th></tr>\n",
    );
    let us = |us: f64| nanoseconds(us * 1e3);
    let all = |prediction: &Option<_>| {
        let prediction: Option<&crate::attempts::Prediction> = prediction.as_ref();
        prediction.map_or(String::new(), |it| us(it.time_us))
    };
    let _ = writeln!(
        out,
        "<tr><td>all</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        all(&before),
        all(&after)
    );
    for term in terms(before.as_ref(), after.as_ref()) {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(&term.name),
            us(term.before_us),
            us(term.after_us)
        );
    }
    out + "</table></div>\n"
}

fn branch(tree: &Tree<'_>, row: &Row, winner: Option<u32>, out: &mut String) {
    let kept = Some(row.ordinal) == winner;
    let (class, outcome) = match &row.outcome {
        Outcome::Timed(prediction) => (
            if kept { "kept" } else { "" },
            nanoseconds(prediction.time_us * 1e3),
        ),
        Outcome::Failed(failure) => ("dim", failure.stage.name().to_owned()),
    };
    let _ = write!(
        out,
        "<li class=\"{class}\" title=\"{}\">{} <code>{}</code> {}",
        escape(&what(row)),
        row.ordinal,
        escape(&tree.last_step(row)),
        escape(&outcome)
    );
    let children = tree.children(row);
    if !children.is_empty() {
        *out += "<ul>\n";
        for child in children {
            branch(tree, child, winner, out);
        }
        *out += "</ul>";
    }
    *out += "</li>\n";
}

/// The sources of the fastest beside the original's.
fn differences(view: &View, original: Option<&Row>) -> String {
    let Some(before) = original.and_then(|row| row.source.as_deref()) else {
        return String::new();
    };
    let mut fastest: Vec<&Row> = view
        .attempts
        .iter()
        .filter(|row| row.ordinal > 0 && row.time().is_some() && row.source.is_some())
        .collect();
    fastest.sort_by(|a, b| {
        let time = |row: &Row| row.time().unwrap_or(f64::INFINITY);
        time(a).total_cmp(&time(b))
    });
    let mut out = String::from("<h2>Sources beside the original</h2>\n");
    for row in fastest.into_iter().take(DIFFS) {
        let _ = write!(
            out,
            "<details class=\"diff\"><summary>{} <code>{}</code></summary><pre>",
            row.ordinal,
            escape(&row.genome.to_string())
        );
        for line in lines(before, row.source.as_deref().unwrap_or_default()) {
            let _ = match line {
                Line::Both(text) => writeln!(out, " {}", escape(text)),
                Line::Before(text) => {
                    writeln!(out, "<span class=\"del\">-{}</span>", escape(text))
                }
                Line::After(text) => writeln!(out, "<span class=\"add\">+{}</span>", escape(text)),
            };
        }
        out += "</pre></details>\n";
    }
    out
}

//! A comparison as text and as Markdown.

use super::text::TextStyle;
use crate::compare::document::{Comparison, LabelChange, Metric, Side};
use assay_report::blocks::Detail;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::hanging;
use std::fmt::Write;

pub(super) fn number(value: Option<f64>, unit: &str) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if unit.is_empty() && value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) if unit.is_empty() => format!("{value:.3}"),
        Some(value) => format!("{value:.3} {unit}"),
    }
}

pub(super) fn change(change: Option<f64>) -> String {
    change.map_or_else(String::new, |change| format!("{:+.1} %", change * 100.0))
}

/// Whether a change is good, bad, or nothing.
pub(super) fn role(metric: &Metric) -> Role {
    match (metric.significant, metric.change, metric.lower_is_better) {
        (Some(true), Some(change), Some(lower)) if change != 0.0 => {
            if (change < 0.0) == lower {
                Role::Good
            } else {
                Role::Bad
            }
        }
        _ => Role::Dim,
    }
}

pub(super) fn judgement(metric: &Metric) -> String {
    match (metric.significant, metric.noise) {
        (Some(false), Some(noise)) if metric.change != Some(0.0) => {
            format!("noise ±{:.1} %", noise * 100.0)
        }
        (Some(true), Some(noise)) if noise > 0.0 => format!("±{:.1} %", noise * 100.0),
        (None, _) => "noise unknown".to_owned(),
        _ => String::new(),
    }
}

pub(super) fn side(name: &str, side: &Side) -> String {
    let mut text = format!(
        "{:<8}{}, {:.3} ms, utilisation {:.3} %, {} executions in {} command buffers, {}",
        format!("{name}:"),
        side.target.as_deref().unwrap_or("unknown process"),
        side.window_ms,
        side.utilization * 100.0,
        side.executions,
        side.command_buffers,
        side.verdict.word()
    );
    if let Some(steps) = side.steps {
        let _ = write!(text, ", {steps:.0} steps");
    }
    text
}

/// Adds a text, broken between words; all lines but the first are indented.
fn wrapped(out: &mut String, text: &str, style: TextStyle, indent: usize) {
    let pieces = hanging(text, style.width.max(24), 0, indent);
    for (index, piece) in pieces.iter().enumerate() {
        let indent = if index == 0 { 0 } else { indent };
        let _ = writeln!(out, "{:indent$}{piece}", "");
    }
}

/// Figures of a first screen.
const METRICS: usize = 15;

/// The comparison for a terminal.
pub fn compare_text(comparison: &Comparison, style: TextStyle) -> String {
    let mut out = String::new();
    let painter = style.painter;
    wrapped(&mut out, &side("before", &comparison.before), style, 8);
    wrapped(&mut out, &side("after", &comparison.after), style, 8);
    let heading = painter.paint(Role::Heading, "Change");
    let (per, why) = (&comparison.normalised, &comparison.normalised_by);
    out.push('\n');
    wrapped(&mut out, &format!("{heading} ({per}: {why})"), style, 2);
    let mut table = Table::new([
        Column::left("").shrink(),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
        Column::left("").shrink(),
    ])
    .painter(painter)
    .indent(2);
    let most = style.detail.rows(METRICS);
    for metric in comparison.metrics.iter().take(most) {
        // The heading says that figures are per step.
        let description = metric.description.strip_suffix(" per step");
        table.row([
            Cell::from(description.unwrap_or(&metric.description)),
            Cell::from(number(metric.before, &metric.unit)),
            Cell::from(number(metric.after, &metric.unit)),
            Cell::new(change(metric.change), role(metric)),
            Cell::new(judgement(metric), Role::Dim),
        ]);
    }
    out.push_str(&table.render(style.width));
    if style.detail == Detail::Screen {
        for gate in &comparison.gates {
            let word = if gate.failed { "FAILED" } else { "passed" };
            let _ = writeln!(out, "gate {} {word}: {}", gate.gate, gate.explanation);
        }
        let hint = "more: --full (fusion, labels) · -o page.html";
        let _ = writeln!(out, "{}", painter.paint(Role::Dim, hint));
        return out;
    }
    let heading = painter.paint(Role::Heading, "Fusion");
    let fusion = &comparison.fusion;
    let text = format!(
        "{heading} {} (by counts and names: {}): {}",
        fusion.state, fusion.happened, fusion.explanation
    );
    out.push('\n');
    wrapped(&mut out, &text, style, 2);
    for line in &comparison.fusion.evidence {
        let pieces = hanging(line, style.width.max(24), 4, 4);
        for (index, piece) in pieces.iter().enumerate() {
            let bullet = if index == 0 { "  - " } else { "    " };
            let _ = writeln!(out, "{bullet}{piece}");
        }
    }
    labels(&mut out, &comparison.labels, style);
    if !comparison.warnings.is_empty() {
        let _ = writeln!(out, "\n{}", painter.paint(Role::Warn, "Warnings"));
        for warning in &comparison.warnings {
            let _ = writeln!(out, "  - {warning}");
        }
    }
    for gate in &comparison.gates {
        let word = if gate.failed {
            painter.paint(Role::Bad, "FAILED")
        } else {
            painter.paint(Role::Good, "passed")
        };
        let _ = writeln!(out, "\ngate {} {word}: {}", gate.gate, gate.explanation);
    }
    out
}

fn labels(out: &mut String, labels: &[LabelChange], style: TextStyle) {
    let _ = writeln!(
        out,
        "\n{}",
        style.painter.paint(Role::Heading, "GPU time by label")
    );
    let mut table = Table::new([
        Column::left("label").shrink(),
        Column::right("count"),
        Column::right("→"),
        Column::right("time"),
        Column::right("→"),
        Column::right("change"),
    ])
    .painter(style.painter)
    .indent(2);
    for row in label_rows(labels).take(style.top) {
        table.row(row);
    }
    out.push_str(&table.render(style.width));
}

/// Label, counts, times and change of each label.
pub(super) fn label_rows(labels: &[LabelChange]) -> impl Iterator<Item = [String; 6]> {
    labels.iter().map(|label| {
        [
            label.label.clone(),
            number(label.before_count, ""),
            number(label.after_count, ""),
            number(label.before_us, "µs"),
            number(label.after_us, "µs"),
            match (label.before_us, label.after_us) {
                (None, _) => "new".to_owned(),
                (_, None) => "gone".to_owned(),
                _ => change(label.change),
            },
        ]
    })
}

/// The comparison as Markdown.
pub fn compare_markdown(comparison: &Comparison) -> String {
    let mut out = String::from("# Comparison of two runs\n\n");
    for (name, run) in [("before", &comparison.before), ("after", &comparison.after)] {
        let _ = writeln!(out, "- {}", side(name, run));
    }
    let _ = writeln!(
        out,
        "\nCompared {} ({}).\n\n| | before | after | change | |\n|---|--:|--:|--:|---|",
        comparison.normalised, comparison.normalised_by
    );
    for metric in &comparison.metrics {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            metric.description,
            number(metric.before, &metric.unit),
            number(metric.after, &metric.unit),
            change(metric.change),
            judgement(metric)
        );
    }
    let _ = writeln!(
        out,
        "\n**Fusion {}** (by counts and names: {}): {}\n",
        comparison.fusion.state, comparison.fusion.happened, comparison.fusion.explanation
    );
    for line in &comparison.fusion.evidence {
        let _ = writeln!(out, "- {}", super::markdown::plain(line));
    }
    if !comparison.warnings.is_empty() {
        out.push_str("\n## Warnings\n\n");
        for warning in &comparison.warnings {
            let _ = writeln!(out, "- {warning}");
        }
    }
    for gate in &comparison.gates {
        let word = if gate.failed { "failed" } else { "passed" };
        let _ = writeln!(
            out,
            "\nGate `{}` **{word}**: {}",
            gate.gate, gate.explanation
        );
    }
    out
}

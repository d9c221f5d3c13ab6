//! The first screen of a recording: the verdict, its evidence, the figures behind it and what to do first.

use crate::analysis::document::*;
use crate::analysis::view::View;
use crate::render::strip::{density, strip};
use assay_report::blocks::{Advice, Answer, Bar, Block, Figure, Headline};
use assay_report::number::{grouped, nanoseconds};
use assay_report::style::Role;

/// Columns of the timeline.
const TIMELINE: usize = 60;
/// Labels, findings and lines of evidence.
const LABELS: usize = 4;
const EVIDENCE: usize = 2;
const FINDINGS: usize = 3;

/// The blocks of the first screen.
pub(super) fn screen(analysis: &Analysis, view: &View<'_>) -> Answer {
    let mut answer = Answer::default();
    let (verdict, recording) = (&analysis.verdict, &analysis.recording);
    let target = &recording.target;
    answer.push(Headline {
        name: target
            .name
            .clone()
            .unwrap_or_else(|| "(unknown process)".to_owned()),
        place: recording
            .gpu
            .as_deref()
            .map_or(String::new(), |gpu| format!("on {gpu}")),
        value: verdict.kind.word().to_owned(),
        note: format!(
            "{} confidence, {}",
            verdict.confidence.word(),
            recording.time_source
        ),
        role: Some(match verdict.kind {
            VerdictKind::KernelBound => Role::Good,
            VerdictKind::Mixed => Role::Warn,
            _ => Role::Bad,
        }),
    });
    answer.push(Block::text(verdict.summary.clone()));
    let evidence = verdict.evidence.iter().take(EVIDENCE);
    answer.push(Block::Figures(
        evidence
            .map(|text| Figure::new("-", text.clone()))
            .collect(),
    ));
    if analysis.intervals.rows_target > 0 {
        answer.push(figures(analysis, view));
        labels(&mut answer, analysis);
    }
    findings(&mut answer, &analysis.findings);
    let hint = "more: --full, or -o page.html for a timeline that zooms";
    answer.push(Block::noted(hint, Role::Dim));
    answer
}

fn figures(analysis: &Analysis, view: &View<'_>) -> Vec<Figure> {
    let (gpu, gaps) = (&analysis.gpu, &analysis.gaps);
    let us = |value: Option<f64>| value.map_or("–".to_owned(), |us| nanoseconds(us * 1e3));
    let busy = format!("{:.1} %", 100.0 * gpu.utilization);
    let of = format!(
        "{} of {}",
        nanoseconds(gpu.busy_ms * 1e6),
        nanoseconds(analysis.window.span_ms * 1e6)
    );
    let mut figures = vec![
        Figure::new("GPU busy", busy).note(of),
        Figure::new(
            "timeline",
            strip(&density(&view.busy(), view.window, TIMELINE)),
        ),
        Figure::new("executions", grouped(analysis.intervals.rows_target)).note(format!(
            "mean {}, in {} command buffers",
            us(analysis.intervals.mean_us),
            grouped(analysis.intervals.command_buffers)
        )),
    ];
    if gaps.count > 0 {
        figures.push(Figure::new("gaps", grouped(gaps.count)).note(format!(
            "mean {}, together {}; {} waiting for the host",
            us(gaps.mean_us),
            nanoseconds(gaps.total_ms * 1e6),
            nanoseconds(gaps.host_wait_ms * 1e6)
        )));
    }
    figures
}

/// The labels that take most of the time.
fn labels(answer: &mut Answer, analysis: &Analysis) {
    let bar = |label: &Label| {
        let time = nanoseconds(label.total_ms * 1e6);
        Bar::new(
            assay_report::table::fitted(&label.label, 40),
            time,
            label.share,
        )
    };
    let rows: Vec<Bar> = analysis.labels.iter().take(LABELS).map(bar).collect();
    if rows.len() > 1 {
        let title = format!("GPU time by label, {} in all", analysis.labels.len());
        answer.push(Block::bars(title, rows));
    }
}

pub(super) fn findings(answer: &mut Answer, findings: &[Finding]) {
    let Some((first, others)) = findings.split_first() else {
        return;
    };
    answer.push(Block::Heading("Do this first".to_owned()));
    answer.push(Advice {
        rule: first.rule.clone(),
        weight: first.severity.name().to_owned(),
        text: format!("{} → {}", first.message, first.advice),
        gain: first.gain.clone().unwrap_or_default(),
        role: Some(Role::Bad),
        ..Advice::default()
    });
    if !others.is_empty() {
        let named = others.iter().take(FINDINGS);
        let named: Vec<&str> = named.map(|finding| finding.rule.as_str()).collect();
        let left = others.len().saturating_sub(FINDINGS);
        let more = match left {
            0 => String::new(),
            left => format!(" and {left} more"),
        };
        answer.push(Block::noted(
            format!("Then: {}{more} (--full)", named.join(", ")),
            Role::Dim,
        ));
    }
}

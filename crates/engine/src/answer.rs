//! The first screen about a kernel: how long it takes and why, its hot lines, what to do first.
//!
//! With a predicted time that time leads, and lines and limits are those of the whole launch; without one it is the code's cycles,
//! of one simdgroup. The two are never shown together: they answer different questions.

use assay_predict::{Predicted, render as predicted};
use assay_profile::render::{self as code, Sources};
use assay_profile::{Profile, number};
use assay_report::blocks::{Answer, Bar, Block, Detail, Picture};
use assay_report::chart::{Chart, Point};
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};

/// Source lines of a first screen.
const LINES: usize = 5;
/// Source lines of a full report.
const MOST_LINES: usize = 24;
/// Kernels of a first screen.
const KERNELS: usize = 15;

/// What is said about one kernel.
pub fn profiled(
    profile: &Profile,
    time: Option<&Predicted>,
    sources: Option<&Sources>,
    detail: Detail,
) -> Answer {
    let mut answer = Answer::default();
    let lines = match detail {
        Detail::Screen => LINES,
        Detail::Full => MOST_LINES,
    };
    match time {
        Some(time) => {
            answer.push(predicted::lead(time));
            let mut figures = vec![predicted::limit(time)];
            figures.extend(predicted::roofs(time));
            figures.push(code::occupancy(profile));
            answer.push(figures);
            if detail == Detail::Full {
                answer.push(predicted::terms(time, detail));
            }
            if !time.lines.is_empty() {
                answer.push(predicted::hot_lines(time, lines));
            }
        }
        None => {
            answer.push(code::lead(profile));
            answer.push(vec![code::limit(profile), code::occupancy(profile)]);
            let hot = code::hot_lines(profile, sources, lines);
            if !hot.lines.is_empty() {
                answer.push(hot);
            }
        }
    }
    code::findings(&mut answer, profile, detail);
    code::warnings(&mut answer, profile);
    match time {
        Some(time) => {
            answer.push(Block::noted(predicted::basis(time), Role::Dim));
            predicted::notes(&mut answer, time.notes.iter(), detail);
        }
        None => {
            if let Some(estimate) = code::estimate(profile) {
                answer.push(Block::noted(estimate, Role::Warn));
            }
            if let Some(sentence) = profile.origin.sentence() {
                answer.push(Block::noted(sentence, Role::Dim));
            }
        }
    }
    answer
}

/// The same for a page: with the two roofs as bars and the roofline as a picture.
pub fn page(profile: &Profile, time: Option<&Predicted>, sources: Option<&Sources>) -> Answer {
    let mut answer = profiled(profile, time, sources, Detail::Full);
    let roofs = time.map_or(Vec::new(), roofs);
    // Under the headline and its figures.
    let at = answer.blocks.len().min(2);
    answer.blocks.splice(at..at, roofs);
    answer
}

/// How near a kernel is to the roof of arithmetic and to that of memory.
fn roofs(time: &Predicted) -> Vec<Block> {
    let rates = &time.rates;
    let mut blocks = Vec::new();
    let bar = |name: &str, share: Option<f64>, rate: Option<f64>, unit: &str| {
        let (share, rate) = share.zip(rate)?;
        Some(Bar::new(name, format!("{rate} {unit}"), share))
    };
    let bars: Vec<Bar> = [
        bar("arithmetic", rates.peak_share, rates.gflops, "GFLOP/s"),
        bar("memory", rates.bandwidth_share, rates.gbs, "GB/s"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !bars.is_empty() {
        blocks.push(Block::bars("How near the chip's roofs", bars));
    }
    blocks.extend(roofline(time).map(Block::Picture));
    blocks
}

/// The kernel under the chip's roofline, where all figures are known.
fn roofline(time: &Predicted) -> Option<Picture> {
    let rates = &time.rates;
    let (x, y) = rates.flops_per_byte.zip(rates.gflops)?;
    let peak = y / rates.peak_share.filter(|share| *share > 0.0)?;
    let bandwidth = rates.gbs? / rates.bandwidth_share.filter(|share| *share > 0.0)?;
    let ridge = peak / bandwidth;
    let (least, most) = ((x.min(ridge)) / 10.0, x.max(ridge) * 10.0);
    let chart = Chart {
        x: "float operations per byte of distinct cache lines".to_owned(),
        y: "GFLOP/s".to_owned(),
        lines: vec![vec![
            (least, least * bandwidth),
            (ridge, peak),
            (most, peak),
        ]],
        points: vec![Point {
            x,
            y,
            title: time.kernel.clone(),
            ..Point::default()
        }],
    };
    let caption = format!(
        "Roofline of {} (modelled): {} at {x} FLOP per byte; the roof there is {:.0} GFLOP/s",
        time.chip,
        time.kernel,
        peak.min(x * bandwidth)
    );
    Some(Picture {
        svg: chart.svg(&caption),
        caption,
    })
}

/// A row for each kernel of a file, the longest first where times are known.
pub fn overview(kernels: &[(&Profile, Option<&Predicted>)], detail: Detail) -> Answer {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::right("time"),
        Column::right("cycles"),
        Column::right("occupancy"),
        Column::left("limited by").shrink(),
        Column::left("first finding").shrink(),
    ]);
    let mut rows: Vec<&(&Profile, Option<&Predicted>)> = kernels.iter().collect();
    let time = |row: &(&Profile, Option<&Predicted>)| row.1.map_or(0.0, |time| time.time_us);
    rows.sort_by(|a, b| time(b).total_cmp(&time(a)));
    let most = detail.rows(KERNELS);
    for (profile, time) in rows.iter().take(most) {
        let (bounds, _) = profile.verdict();
        let limit = match (time, bounds.verdict) {
            (Some(time), _) => time.limited_by.clone(),
            (None, Some(kind)) => kind.name().to_owned(),
            (None, None) => "no verdict".to_owned(),
        };
        let finding = profile.findings.first();
        table.row([
            Cell::new(code::name(profile), Role::Name),
            time.map_or("–".to_owned(), |time| predicted::time(time.time_us))
                .into(),
            bounds.estimate.map_or("?".to_owned(), number).into(),
            format!("{:.0} %", 100.0 * profile.occupancy.share).into(),
            limit.into(),
            finding.map_or("–", |finding| finding.rule).into(),
        ]);
    }
    let mut answer = Answer::default();
    answer.push(Block::noted(
        format!(
            "{} kernels; times of their launches and cycles of the hottest loop, modelled",
            kernels.len()
        ),
        Role::Heading,
    ));
    answer.push(table);
    if kernels.len() > most {
        let text = format!(
            "and {} more; --full shows all, -f NAME one of them",
            kernels.len() - most
        );
        answer.push(Block::noted(text, Role::Dim));
    }
    answer
}

//! The report as text.

use super::{Cell, Report};
use crate::attempts::{Geometry, Verified};
use assay_report::blocks::{Answer, Figure, Headline, View};
use assay_report::number::nanoseconds;
use assay_report::style::{Painter, Role};
use assay_report::table::{Column, Table};

/// Terms that are shown.
const MOST_TERMS: usize = 5;
/// Faster attempts that were not right, as far as they are shown.
const MOST_REFUSED: usize = 3;

/// The report for people.
pub fn text(report: &Report, painter: Painter, width: usize) -> String {
    answer(report).terminal(&View {
        painter,
        width,
        ..View::default()
    })
}

/// What was found, on one screen.
fn answer(report: &Report) -> Answer {
    let mut answer = Answer::default();
    let (value, note, role) = match report.improved {
        true => (
            format!("at least {:.2} times as fast", report.claimed_gain),
            format!(
                "predicted {:.2}, at most {:.2}; four chances in five each; {}",
                report.gain, report.high_gain, report.basis
            ),
            Role::Good,
        ),
        false => (
            "no improvement found".to_owned(),
            report.basis.to_owned(),
            Role::Warn,
        ),
    };
    answer.push(Headline {
        name: report.kernel.clone(),
        place: format!("on {}", report.chip),
        value,
        note,
        role: Some(role),
    });
    answer.push(figures(report));
    answer.push(times(report));
    if let Some(table) = gains(report) {
        answer.push(table);
    }
    answer
}

/// What was changed, why it may be believed, and what was tried.
fn figures(report: &Report) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut line = |head: &str, text: &str| figures.push(Figure::new(head, text));
    if !report.improved {
        line("why", &report.reason);
    } else {
        let steps = match report.recipes.is_empty() {
            true => "none".to_owned(),
            false => report.recipes.join(" "),
        };
        line("recipes", &steps);
        if !report.knobs.is_empty() {
            let knobs = report.knobs.iter();
            let knobs = knobs.map(|knob| format!("{}={}", knob.name, knob.value));
            line("knobs", &knobs.collect::<Vec<_>>().join(" "));
        }
        line("launch", &report.launch);
        line("host", &guarded_host(report));
        if let Some(guard) = &report.guard {
            line("guard", &guarded(report, guard));
        }
        if let Some(text) = elsewhere(report) {
            line("elsewhere", &text);
        }
        line("class", class(&report.class));
        line("proof", &proof(report));
    }
    for (ordinal, stage, why) in report.proof.refused.iter().take(MOST_REFUSED) {
        line("refused", &format!("attempt {ordinal}, {stage}: {why}"));
    }
    let stopped = match report.stopped {
        true => "; the budget ended first, --resume continues",
        false => "",
    };
    line(
        "attempts",
        &format!(
            "{} ({} failed), session {}{stopped}",
            report.evaluations, report.failed, report.session
        ),
    );
    for note in &report.notes {
        line("note", note);
    }
    figures
}

/// Where the time goes, before and after.
fn times(report: &Report) -> Table {
    let us = |us: f64| nanoseconds(us * 1000.0);
    if !report.improved {
        let mut table = Table::new([Column::left("time"), Column::right("original")]);
        table.row(["all".to_owned(), us(report.original_us)]);
        for term in report.terms.iter().take(MOST_TERMS) {
            table.row([format!("  {}", term.name), us(term.before_us)]);
        }
        return table;
    }
    let columns = [
        Column::left("time"),
        Column::right("before"),
        Column::right("after"),
    ];
    let mut table = Table::new(columns);
    table.row(["all".to_owned(), us(report.original_us), us(report.best_us)]);
    for term in report.terms.iter().take(MOST_TERMS) {
        table.row([
            format!("  {}", term.name),
            us(term.before_us),
            us(term.after_us),
        ]);
    }
    table
}

fn class(letter: &str) -> &'static str {
    match letter {
        "E" => "E: the same bytes as the original",
        _ => "R: floats are added in another order",
    }
}

fn proof(report: &Report) -> String {
    let Some(full) = &report.proof.full else {
        return "nothing was proven".to_owned();
    };
    let mut text = compared(full);
    text += &match full.checked {
        0 => "; too large to be checked by the sanitizer".to_owned(),
        runs => format!("; sanitizer clean in {runs} runs"),
    };
    if let Some(held_out) = &report.proof.held_out {
        let sizes: Vec<&str> = held_out.sizes.iter().map(String::as_str).collect();
        text += &match ranges(&sizes) {
            none if none.is_empty() => "; held out until then: the launch".to_owned(),
            _ if sizes.len() == 1 => format!("; held out until then: {}", sizes[0]),
            ranges => format!("; held out until then: {} sizes, {ranges}", sizes.len()),
        };
    }
    text
}

fn compared(verified: &Verified) -> String {
    let sizes: Vec<&str> = verified
        .sizes
        .iter()
        .filter(|sizes| !sizes.is_empty())
        .map(String::as_str)
        .collect();
    let place = match sizes.as_slice() {
        [] => "at this launch alone, which is in plain numbers".to_owned(),
        [only] => format!("at {only}"),
        all => format!("at {} sizes, {}", all.len(), ranges(all)),
    };
    let runs = verified.comparisons;
    let mut text = match verified.identical {
        true => format!("the original's bytes in {runs} runs {place}"),
        false => format!(
            "within {:.1e} of the largest number in {runs} runs {place}",
            verified.largest_difference
        ),
    };
    if let (Some(before), Some(after)) = (verified.error_before, verified.error_after) {
        let (before, after) = (before * 100.0, after * 100.0);
        text += &format!("; error by the oracle {before:.2} → {after:.2} % of what is allowed");
    }
    if let Some(bias) = verified.bias {
        let side = if bias > 0.0 { "larger" } else { "smaller" };
        text += &format!(
            "; on the whole {:.1e} {side} than the original's",
            bias.abs()
        );
    }
    text
}

/// From where to where each size was tried: `C = 1 to 512, R = 7 to 4096`.
fn ranges(sizes: &[&str]) -> String {
    let mut found: Vec<(&str, u64, u64)> = Vec::new();
    for part in sizes.iter().flat_map(|sizes| sizes.split(", ")) {
        let Some((name, value)) = part.split_once(" = ") else {
            continue;
        };
        let Ok(value) = value.replace(',', "").parse() else {
            continue;
        };
        match found.iter_mut().find(|known| known.0 == name) {
            Some(known) => *known = (name, known.1.min(value), known.2.max(value)),
            None => found.push((name, value, value)),
        }
    }
    let range = |(name, least, most): (&str, u64, u64)| match least == most {
        true => format!("{name} = {least}"),
        false => format!("{name} = {least} to {most}"),
    };
    found.into_iter().map(range).collect::<Vec<_>>().join(", ")
}

/// Gains at all sizes on all chips that are claimed, if there are several.
fn gains(report: &Report) -> Option<Table> {
    let claimed: Vec<&Cell> = report.table.iter().filter(|cell| cell.claimed).collect();
    if claimed.len() < 2 {
        return None;
    }
    let mut chips: Vec<&str> = Vec::new();
    let mut sizes: Vec<&str> = Vec::new();
    for cell in &claimed {
        if !chips.contains(&cell.chip.as_str()) {
            chips.push(&cell.chip);
        }
        if !sizes.contains(&cell.sizes.as_str()) {
            sizes.push(&cell.sizes);
        }
    }
    let columns = chips.iter().map(|chip| Column::right(*chip));
    let mut table = Table::new(std::iter::once(Column::left("gain")).chain(columns));
    for size in sizes {
        let gain = |chip: &&str| {
            let mut cells = claimed.iter();
            let cell = cells.find(|cell| cell.sizes == size && cell.chip == **chip);
            cell.map_or(String::new(), |cell| format!("{:.2}×", cell.gain))
        };
        let row: Vec<String> = chips.iter().map(gain).collect();
        table.row(std::iter::once(size.to_owned()).chain(row));
    }
    Some(table)
}

/// What other shapes would bring.
fn elsewhere(report: &Report) -> Option<String> {
    let others: Vec<&Cell> = report.table.iter().filter(|cell| !cell.claimed).collect();
    let gains = || others.iter().map(|cell| cell.gain);
    let (least, most) = (gains().reduce(f64::min)?, gains().reduce(f64::max)?);
    let count = |mut names: Vec<&str>| {
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    let shapes = count(others.iter().map(|cell| cell.sizes.as_str()).collect());
    let chips = count(others.iter().map(|cell| cell.chip.as_str()).collect());
    let chips = match chips {
        1 => "one chip".to_owned(),
        chips => format!("{chips} chips"),
    };
    Some(format!(
        "{least:.2} to {most:.2} times as fast at {shapes} other shapes on {chips}"
    ))
}

fn guarded(report: &Report, guard: &str) -> String {
    let slowest = report.table.iter().min_by(|a, b| a.gain.total_cmp(&b.gain));
    let slowest = slowest.map_or(String::new(), |cell| {
        format!(
            "; {:.2} times as fast at {} on {}",
            cell.gain, cell.sizes, cell.chip
        )
    });
    format!("use it where {guard}, the original elsewhere{slowest}")
}

/// The dispatch behind the condition under which it pays.
fn guarded_host(report: &Report) -> String {
    let host = host(&report.geometry);
    match &report.guard {
        Some(guard) => format!("if ({guard}) {{ {host} }} else {{ /* the original */ }}"),
        None => host,
    }
}

/// The dispatch as a host program writes it.
pub(super) fn host(geometry: &Geometry) -> String {
    let size = |formulas: &[String]| {
        let mut all: Vec<&str> = formulas.iter().map(String::as_str).collect();
        all.resize(3, "1");
        format!("MTLSizeMake({})", all.join(", "))
    };
    let mut lines: Vec<String> = geometry
        .numbers
        .iter()
        .map(|(index, value)| format!("uint{index} = {value}; setBytes(&uint{index}, 4, {index});"))
        .collect();
    for (index, bytes) in &geometry.threadgroup_memory {
        lines.push(format!("setThreadgroupMemoryLength({bytes}, {index});"));
    }
    let (call, grid) = match geometry.groups.is_empty() {
        true => ("dispatchThreads", &geometry.grid),
        false => ("dispatchThreadgroups", &geometry.groups),
    };
    lines.push(format!(
        "{call}({}, {});",
        size(grid),
        size(&geometry.threadgroup)
    ));
    lines.join(" ")
}

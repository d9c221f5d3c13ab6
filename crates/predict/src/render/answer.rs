//! Predictions as blocks: the first screen of `assay predict`, and what other answers take from it.

use super::text::{file_name, reasons, shown, time, useful, work_line};
use crate::document::{LineTime, Predicted, Report};
use assay_report::blocks::{Answer, Bar, Block, Detail, Figure, Headline, Source, SourceLine};
use assay_report::number;
use assay_report::rule::slug;
use assay_report::style::Role;
use assay_report::table::{Column, Table};

/// Rows of a table that fit a screen.
const ROWS: usize = 16;
/// Terms smaller than this share of the time are left to the full report.
const SMALL_TERM: f64 = 0.015;

/// Predictions of one kernel in full, of several as a table.
pub fn answer(report: &Report, detail: Detail) -> Answer {
    let mut answer = match report.predictions.as_slice() {
        [only] => one(only, detail),
        many => table(many, detail),
    };
    let most = detail.rows(4);
    if !report.refused.is_empty() {
        answer.push(Block::Heading("No prediction".to_owned()));
    }
    for refused in report.refused.iter().take(most) {
        let chip = refused.chip.as_deref();
        let chip = chip.map_or(String::new(), |chip| format!(" on {chip}"));
        let text = format!("{}{chip}", refused.kernel);
        answer.push(vec![Figure::new(text, refused.reason.clone())]);
    }
    if report.refused.len() > most {
        let left = report.refused.len() - most;
        answer.push(Block::noted(format!("and {left} more: --full"), Role::Dim));
    }
    answer
}

/// Kernel, chip, time and band.
pub fn lead(predicted: &Predicted) -> Headline {
    Headline {
        name: predicted.kernel.clone(),
        place: format!("on {} ({} cores)", predicted.chip, predicted.cores),
        value: time(predicted.time_us),
        note: format!("{}, modelled", band(predicted)),
        role: None,
    }
}

/// `7.2–15.6 ms`.
pub fn band(predicted: &Predicted) -> String {
    between(predicted.low_us, predicted.high_us)
}

/// The same of two times in microseconds.
pub fn between(low_us: f64, high_us: f64) -> String {
    let (low, high) = (time(low_us), time(high_us));
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    match low.rsplit_once(' ') {
        Some((value, _)) if unit(&low) == unit(&high) => format!("{value}–{high}"),
        _ => format!("{low} – {high}"),
    }
}

/// What limits the time, with its share and the page that explains it.
pub fn limit(predicted: &Predicted) -> Figure {
    let term = predicted.terms.iter();
    let mut term = term.filter(|term| term.name == predicted.limited_by);
    let share = term
        .next()
        .map(|term| 100.0 * term.us / predicted.time_us.max(f64::MIN_POSITIVE));
    let value = match share {
        Some(share) => format!("{} {share:.0} %", predicted.limited_by),
        None => predicted.limited_by.clone(),
    };
    Figure::new("limited by", value)
        .role(Role::Bad)
        .note(format!("assay explain {}", slug(&predicted.limited_by)))
}

/// The rates of a roofline: arithmetic and memory.
pub fn roofs(predicted: &Predicted) -> Vec<Figure> {
    let rates = &predicted.rates;
    let percent = |share: Option<f64>, of: &str| {
        share.map_or(String::new(), |share| {
            format!("{:.1} % of {of}", 100.0 * share)
        })
    };
    let mut figures = Vec::new();
    if let Some(gflops) = rates.gflops {
        let share = percent(rates.peak_share, "peak");
        figures.push(Figure::new("FLOPS", share).note(format!("{gflops} GFLOP/s")));
    }
    if let Some(gbs) = rates.gbs {
        let touched = number::bytes(predicted.work.touched_bytes as u64);
        let note = format!("{touched} touched at {gbs} GB/s");
        figures.push(match rates.bandwidth_share {
            // Bytes that caches answer do not cross the memory's bus, however many they are.
            Some(share) if share > 1.0 => {
                let times = format!("{note}, {share:.1} times what DRAM brings");
                Figure::new("DRAM", "caches answer").note(times)
            }
            share => Figure::new("DRAM", percent(share, "bandwidth")).note(note),
        });
    }
    figures
}

/// Whose code, how much of it was executed, and what the caches held.
pub fn basis(predicted: &Predicted) -> String {
    let code = match predicted.code.strip_prefix("generated, ") {
        Some(isa) => format!("{isa} code by assay, not Apple's compiler"),
        None => format!("code {}", predicted.code),
    };
    format!(
        "{code} · {} of {} threadgroups executed · {} caches · class {} ({})",
        number::grouped(predicted.sampled),
        number::grouped(predicted.threadgroups),
        predicted.state,
        predicted.class,
        predicted.model
    )
}

/// The lines that take most of the time, the dearest first.
pub fn hot_lines(predicted: &Predicted, most: usize) -> Source {
    let lines: Vec<&LineTime> = shown(predicted).take(most).collect();
    let several = lines.windows(2).any(|pair| pair[0].file != pair[1].file);
    let line = |line: &&LineTime| SourceLine {
        place: match several {
            true => format!("{}:{}", file_name(&line.file), line.line),
            false => line.line.to_string(),
        },
        share: line.us / predicted.time_us.max(f64::MIN_POSITIVE),
        text: line.text.as_deref().unwrap_or("").trim().to_owned(),
        why: reasons(line),
    };
    let outside = predicted.outside_lines();
    let outside = outside
        .iter()
        .filter(|term| term.us >= 0.02 * predicted.time_us);
    let outside = outside.map(|term| SourceLine {
        place: "–".to_owned(),
        share: term.us / predicted.time_us.max(f64::MIN_POSITIVE),
        text: term.name.to_owned(),
        why: String::new(),
    });
    Source {
        title: "Hot lines".to_owned(),
        lines: lines.iter().map(line).chain(outside).collect(),
    }
}

/// Where the time goes.
pub fn terms(predicted: &Predicted, detail: Detail) -> Block {
    let least = match detail {
        Detail::Screen => SMALL_TERM,
        Detail::Full => 0.0,
    };
    let whole = predicted.time_us.max(f64::MIN_POSITIVE);
    let mut terms: Vec<&crate::document::TermTime> = predicted.terms.iter().collect();
    terms.retain(|term| term.us > 0.0 && term.us / whole >= least);
    terms.sort_by(|a, b| b.us.total_cmp(&a.us));
    let rows = terms.iter().map(|term| Bar {
        note: term.removal_us.map_or(String::new(), |us| {
            let left = (predicted.time_us - us).max(f64::MIN_POSITIVE);
            format!("without it {:.2}x", predicted.time_us / left)
        }),
        ..Bar::new(term.name, time(term.us), term.us / whole)
    });
    Block::bars("Where the time goes", rows.collect())
}

/// What twice as much of a resource would bring.
pub fn doubled(predicted: &Predicted) -> String {
    let useful = useful(predicted);
    let gains: Vec<String> = useful
        .iter()
        .map(|doubled| {
            let faster = predicted.time_us / doubled.time_us.max(f64::MIN_POSITIVE);
            format!("{} {faster:.2}x", doubled.resource)
        })
        .collect();
    match gains.is_empty() {
        true => {
            "no resource alone makes it faster: overheads and latencies decide the time".to_owned()
        }
        false => gains.join(" · "),
    }
}

fn one(predicted: &Predicted, detail: Detail) -> Answer {
    let mut answer = Answer::default();
    let mut lead = lead(predicted);
    lead.note += ": 4 of 5 kernels of its class lie there";
    answer.push(lead);
    let mut figures = vec![limit(predicted)];
    figures.extend(roofs(predicted));
    figures.push(Figure::new("if doubled", doubled(predicted)));
    answer.push(figures);
    answer.push(terms(predicted, detail));
    answer.push(Block::noted(basis(predicted), Role::Dim));
    if detail == Detail::Full {
        answer.push(Block::text(work_line(predicted)));
    }
    notes(&mut answer, predicted.notes.iter(), detail);
    answer
}

/// Notes, as many as there is room for.
pub fn notes<'n>(answer: &mut Answer, notes: impl Iterator<Item = &'n String>, detail: Detail) {
    let most = detail.rows(3);
    let notes: Vec<&String> = notes.collect();
    for note in notes.iter().take(most) {
        answer.push(Block::text(format!("note: {note}")));
    }
    if notes.len() > most {
        let left = notes.len() - most;
        answer.push(Block::noted(
            format!("and {left} more notes: --full"),
            Role::Dim,
        ));
    }
}

fn table(predictions: &[Predicted], detail: Detail) -> Answer {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("chip"),
        Column::right("time"),
        Column::right("band"),
        Column::left("limited by").shrink(),
    ]);
    let most = detail.rows(ROWS);
    let mut answer = Answer::default();
    let mut rows: Vec<&Predicted> = predictions.iter().collect();
    if rows.len() > most {
        rows.sort_by(|a, b| b.time_us.total_cmp(&a.time_us));
    }
    for predicted in rows.iter().take(most) {
        let mark = if predicted.is_stand_in() { " *" } else { "" };
        table.row([
            predicted.kernel.clone(),
            format!("{}{mark}", predicted.chip),
            time(predicted.time_us),
            band(predicted),
            predicted.limited_by.clone(),
        ]);
    }
    answer.push(table);
    if rows.len() > most {
        let text = format!("the {most} longest of {}; --full shows all", rows.len());
        answer.push(Block::noted(text, Role::Dim));
    }
    if predictions.iter().any(Predicted::is_stand_in) {
        answer.push(Block::text(
            "* code for M1 and M2 as a stand-in: this chip runs another instruction set",
        ));
    }
    answer.push(Block::text(
        "modelled; four of five kernels of a class lie in its band",
    ));
    answer
}

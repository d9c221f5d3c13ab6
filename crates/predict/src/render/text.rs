//! Predictions as text.

use super::Style;
use crate::compare::{Call, Compared};
use crate::document::{LineTime, Predicted, Report};
use assay_report::bar::bar;
use assay_report::number;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::{hanging, wrap};
use std::fmt::Write as _;

/// Columns of a bar.
const BAR: usize = 24;

/// Predictions of one kernel in full, of several as a table.
pub fn text(report: &Report, style: &Style) -> String {
    let mut out = String::new();
    match report.predictions.as_slice() {
        [only] => one(&mut out, only, style),
        many => table(&mut out, many, style),
    }
    if !report.refused.is_empty() {
        let _ = writeln!(out, "\nNo prediction:");
        for refused in &report.refused {
            let chip = refused.chip.as_deref();
            let chip = chip.map_or(String::new(), |chip| format!(" on {chip}"));
            let text = format!("{}{chip}: {}", refused.kernel, refused.reason);
            for (index, line) in hanging(&text, style.width, 2, 4).iter().enumerate() {
                let indent = if index == 0 { "  " } else { "    " };
                let _ = writeln!(out, "{indent}{line}");
            }
        }
    }
    out
}

/// A time with a unit that suits it.
pub fn time(us: f64) -> String {
    number::nanoseconds(us * 1e3)
}

/// Kernel, chip, time, band and reason in one line.
pub fn headline(predicted: &Predicted) -> String {
    format!(
        "{} on {} ({} cores): {} ({} to {}), limited by {}",
        predicted.kernel,
        predicted.chip,
        predicted.cores,
        time(predicted.time_us),
        time(predicted.low_us),
        time(predicted.high_us),
        predicted.limited_by
    )
}

/// What the prediction was made from, in one line.
pub fn origin(predicted: &Predicted) -> String {
    format!(
        "modelled ({}), {} caches, class {}, {} of {} threadgroups executed, code: {}",
        predicted.model,
        predicted.state,
        predicted.class,
        predicted.sampled,
        number::grouped(predicted.threadgroups),
        predicted.code
    )
}

/// Work of the whole launch, and the rates at which it is done.
pub fn work_line(predicted: &Predicted) -> String {
    let (work, rates) = (&predicted.work, &predicted.rates);
    let percent = |share: Option<f64>, of: &str| {
        let share = share.map(|share| format!(" ({:.1} % of {of})", 100.0 * share));
        share.unwrap_or_default()
    };
    let mut parts = Vec::new();
    if let Some((flops, gflops)) = work.flops.zip(rates.gflops) {
        let peak = percent(rates.peak_share, "the peak");
        parts.push(format!("{} at {gflops} GFLOP/s{peak}", number::flop(flops)));
    }
    if let Some(gbs) = rates.gbs {
        let memory = percent(rates.bandwidth_share, "the memory's bandwidth");
        let touched = number::bytes(work.touched_bytes as u64);
        parts.push(format!("{touched} touched at {gbs} GB/s{memory}"));
    }
    if let Some(intensity) = rates.flops_per_byte {
        parts.push(format!("{intensity} FLOP per byte"));
    }
    parts.join("; ")
}

/// The resources of which twice as much would help.
pub(super) fn useful(predicted: &Predicted) -> Vec<&crate::document::Doubled> {
    let doubled = predicted.doubled.iter();
    doubled
        .filter(|doubled| doubled.time_us < 0.97 * predicted.time_us)
        .take(4)
        .collect()
}

fn lines(out: &mut String, text: &str, style: &Style) {
    for line in wrap(text, style.width, 0) {
        let _ = writeln!(out, "{line}");
    }
}

fn one(out: &mut String, predicted: &Predicted, style: &Style) {
    for line in wrap(&headline(predicted), style.width, 0) {
        let _ = writeln!(out, "{}", style.painter.paint(Role::Heading, &line));
    }
    lines(out, &origin(predicted), style);
    lines(out, &work_line(predicted), style);
    let _ = writeln!(out, "\nWhere the time goes");
    for term in &predicted.terms {
        let share = term.us / predicted.time_us.max(f64::MIN_POSITIVE);
        if share < 0.005 {
            continue;
        }
        let width = style.width.saturating_sub(44).clamp(4, BAR);
        let _ = writeln!(
            out,
            "  {:20} {:>10}  {:>4.0} %  {}",
            term.name,
            time(term.us),
            100.0 * share,
            bar(share, width)
        );
    }
    let useful = useful(predicted);
    let _ = writeln!(out, "\nTwice as much would bring");
    let names = useful.iter().map(|doubled| doubled.resource.len());
    let longest = names.max().unwrap_or_default().max(20);
    for doubled in &useful {
        let faster = predicted.time_us / doubled.time_us.max(f64::MIN_POSITIVE);
        let _ = writeln!(
            out,
            "  {:longest$} {:>10}  {faster:.2} times as fast",
            doubled.resource,
            time(doubled.time_us)
        );
    }
    if useful.is_empty() {
        lines(
            out,
            "  nothing of any one resource: overheads and latencies count",
            style,
        );
    }
    for note in &predicted.notes {
        out.push('\n');
        lines(out, &format!("note: {note}"), style);
    }
}

fn table(out: &mut String, predictions: &[Predicted], style: &Style) {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("chip"),
        Column::right("time"),
        Column::right("from"),
        Column::right("to"),
        Column::left("limited by"),
        Column::left("class"),
    ])
    .painter(style.painter);
    for predicted in predictions {
        let mark = if predicted.is_stand_in() { " *" } else { "" };
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
    out.push_str(&table.render(style.width));
    if predictions.iter().any(Predicted::is_stand_in) {
        lines(
            out,
            "* code for M1 and M2 as a stand-in: this chip runs another instruction set",
            style,
        );
    }
    lines(
        out,
        "modelled; four of five kernels of a class lie between from and to",
        style,
    );
}

/// Lines that take at least half a per cent of the time, the dearest first.
pub(super) fn shown(predicted: &Predicted) -> impl Iterator<Item = &LineTime> {
    let least = 0.005 * predicted.time_us;
    predicted.lines.iter().filter(move |line| line.us >= least)
}

/// The dearest source lines, in the order of the file.
pub fn line_table(predicted: &Predicted, most: usize, style: &Style) -> String {
    let mut shown: Vec<&LineTime> = shown(predicted).take(most).collect();
    shown.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    let several = shown.windows(2).any(|pair| pair[0].file != pair[1].file);
    let mut table = Table::new([
        Column::right("line"),
        Column::right("time"),
        Column::right("share"),
        Column::left("why").shrink(),
        Column::left("source").shrink(),
    ])
    .painter(style.painter)
    .indent(2);
    for line in shown {
        let share = line.us / predicted.time_us.max(f64::MIN_POSITIVE);
        let place = match several {
            true => format!("{}:{}", file_name(&line.file), line.line),
            false => line.line.to_string(),
        };
        table.row([
            Cell::from(place),
            time(line.us).into(),
            format!("{:.0} %", 100.0 * share).into(),
            reasons(line).into(),
            Cell::new(line.text.as_deref().unwrap_or("").trim(), Role::Dim),
        ]);
    }
    table.render(style.width)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The reasons of a line that matter, the largest first.
pub fn reasons(line: &LineTime) -> String {
    let share = |us: f64| 100.0 * us / line.us.max(f64::MIN_POSITIVE);
    let named = line.reasons.iter().take(3);
    let named = named.filter(|reason| share(reason.us) >= 5.0);
    let named: Vec<String> = named
        .map(|reason| format!("{} {:.0} %", reason.name, share(reason.us)))
        .collect();
    named.join(", ")
}

/// Two predictions: what is called, then the terms that changed.
pub fn compared(compared: &Compared, style: &Style) -> String {
    let mut out = String::new();
    let role = match compared.call {
        Call::Faster => Role::Good,
        Call::Slower => Role::Bad,
        Call::Tie => Role::Warn,
    };
    for line in wrap(&verdict(compared), style.width, 0) {
        let _ = writeln!(out, "{}", style.painter.paint(role, &line));
    }
    let (before, after) = (&compared.before, &compared.after);
    lines(
        &mut out,
        &format!(
            "modelled ({}), {} caches; 4 of 5 pairs of variants lie between {:.2} and {:.2}, and 4 of 5 calls are right",
            after.model, after.state, compared.low, compared.high
        ),
        style,
    );
    out.push('\n');
    let mut table = Table::new([
        Column::left("term"),
        Column::right("before"),
        Column::right("after"),
        Column::right("change"),
    ])
    .painter(style.painter)
    .indent(2);
    for (name, before, after) in [
        ("predicted time", before.time_us, after.time_us),
        ("  from", before.low_us, after.low_us),
        ("  to", before.high_us, after.high_us),
    ] {
        table.row([name.to_owned(), time(before), time(after), String::new()]);
    }
    let least = 0.01 * before.time_us.max(after.time_us);
    for term in &compared.terms {
        if term.change().abs() < least && term.before_us.max(term.after_us) < 5.0 * least {
            continue;
        }
        let sign = if term.change() < 0.0 { "-" } else { "+" };
        let change = match term.change().abs() < least {
            true => "about the same".to_owned(),
            false => format!("{sign}{}", time(term.change().abs())),
        };
        let shown = |us: f64| match us > 0.0 {
            true => time(us),
            false => "–".to_owned(),
        };
        table.row([
            term.name.to_owned(),
            shown(term.before_us),
            shown(term.after_us),
            change,
        ]);
    }
    out += &table.render(style.width);
    out.push('\n');
    out += &work(compared, style);
    let fresh = after
        .notes
        .iter()
        .filter(|note| !before.notes.contains(note));
    for note in before.notes.iter().chain(fresh) {
        out.push('\n');
        lines(&mut out, &format!("note: {note}"), style);
    }
    out
}

/// Both times, the ratio and the call.
pub(super) fn verdict(compared: &Compared) -> String {
    let (before, after) = (&compared.before, &compared.after);
    let names = match before.kernel == after.kernel {
        true => after.kernel.clone(),
        false => format!("{} → {}", before.kernel, after.kernel),
    };
    let ratio = match compared.call {
        Call::Slower => format!(
            "{:.2} times as slow",
            1.0 / compared.speedup.max(f64::MIN_POSITIVE)
        ),
        _ => format!("{:.2} times as fast", compared.speedup),
    };
    let reason = compared.reason;
    let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
    format!(
        "{names} on {} ({} cores): {} → {}, {ratio}: {}{reason}",
        after.chip,
        after.cores,
        time(before.time_us),
        time(after.time_us),
        compared.call.name()
    )
}

/// What both do, whatever the chip.
fn work(compared: &Compared, style: &Style) -> String {
    let (before, after) = (&compared.before.work, &compared.after.work);
    let mut table = Table::new([
        Column::left("work of the whole launch").shrink(),
        Column::right("before"),
        Column::right("after"),
        Column::right("ratio"),
    ])
    .painter(style.painter)
    .indent(2);
    type Show = fn(f64) -> String;
    let bytes: Show = |value| number::bytes(value.round() as u64);
    let count: Show = |value| number::grouped(value.round() as u64);
    let rows = [
        (
            "instructions of simdgroups",
            before.instructions,
            after.instructions,
            count,
        ),
        (
            "moved to and from device memory",
            before.device_bytes,
            after.device_bytes,
            bytes,
        ),
        (
            "distinct cache lines",
            before.touched_bytes,
            after.touched_bytes,
            bytes,
        ),
        (
            "moved to and from threadgroup memory",
            before.threadgroup_bytes,
            after.threadgroup_bytes,
            bytes,
        ),
    ];
    for (name, before, after, show) in rows {
        if before == 0.0 && after == 0.0 {
            continue;
        }
        let ratio = match before > 0.0 {
            true => format!("{:.2}", after / before),
            false => "–".to_owned(),
        };
        table.row([name.to_owned(), show(before), show(after), ratio]);
    }
    table.render(style.width)
}

//! For terminals.

use super::{View, by_device, changed_hands, clock, figure, precision, short};
use crate::claim::Claim;
use crate::entry::Entry;
use crate::modelled::Modelled;
use assay_report::number;
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};
use assay_report::wrap::wrap;

/// How the text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Columns.
    pub width: usize,
    /// Colours.
    pub painter: Painter,
    /// Every source, not only holders of records.
    pub all: bool,
}

/// Below so many columns the rates are left out.
const NARROW: usize = 76;
/// From so many on, what a record was taken from, and when, beside speed-ups too.
const WIDEST: usize = 96;
/// Below so many, how sure the time is too.
const NARROWEST: usize = 56;

/// A table for each device, then one of claims.
pub fn text(view: &View, style: TextStyle) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (device, entries) in by_device(&view.results) {
        let name = wrap(&device.name, style.width, 0).join("\n      ");
        let name = style.painter.paint(Role::Heading, &name);
        let clock = wrap(clock(device), style.width, 0).join("\n");
        parts.push(format!("{name}\n{clock}\n{}", results(&entries, style)));
    }
    if !view.claims.is_empty() {
        let heading = "Claims of others, not verified and not ranked";
        let heading = wrap(heading, style.width, 0).join("\n      ");
        let heading = style.painter.paint(Role::Heading, &heading);
        parts.push(format!("{heading}\n{}", claims(&view.claims, style)));
    }
    if !view.modelled.is_empty() {
        let heading = "Predicted, not measured (modelled)";
        let heading = style.painter.paint(Role::Heading, heading);
        parts.push(format!("{heading}\n{}", modelled(&view.modelled, style)));
    }
    parts.join("\n")
}

fn results(entries: &[&Entry], style: TextStyle) -> String {
    let wide = style.width >= NARROW;
    let compared = entries.iter().any(|entry| entry.run.reference.is_some());
    let roofed = entries.iter().any(|entry| entry.run.roofline.is_some());
    let dated = wide && !style.all && (style.width >= WIDEST || !compared);
    let taken =
        style.width >= WIDEST && entries.iter().any(|entry| !changed_hands(entry).is_empty());
    let columns = [
        (true, Column::left("kernel").shrink()),
        (true, Column::left("sizes").shrink()),
        (style.all, Column::left("source")),
        (true, Column::right("time")),
        (style.width >= NARROWEST, Column::right("±")),
        (wide, Column::right("Gflop/s")),
        (wide, Column::right("GB/s")),
        (compared, Column::right("speed-up")),
        (roofed, Column::right("roofline")),
        (taken, Column::right("record from → to")),
        (wide, Column::right("runs")),
        (dated, Column::left("taken")),
    ];
    let shown: Vec<bool> = columns.iter().map(|(shown, _)| *shown).collect();
    let columns = columns.into_iter().filter(|(shown, _)| *shown);
    let mut table = Table::new(columns.map(|(_, column)| column)).painter(style.painter);
    let over = entries
        .iter()
        .filter_map(|entry| entry.run.reference.as_ref());
    let over: std::collections::BTreeSet<&str> =
        over.map(|reference| reference.name.as_str()).collect();
    for entry in entries {
        let cells = cells(entry, over.len() > 1).into_iter().zip(&shown);
        table.row(cells.filter(|(_, shown)| **shown).map(|(cell, _)| cell));
    }
    let mut text = table.render(style.width);
    // A speed-up says nothing without what it is over.
    if let (1, Some(over)) = (over.len(), over.first()) {
        let line = format!("speed-ups are over {over}");
        text += &wrap(&line, style.width, 0).join("\n      ");
        text.push('\n');
    }
    text
}

/// The cells of a row. Where there are several references, each speed-up says which it is over.
fn cells(entry: &Entry, several: bool) -> [Cell; 12] {
    let run = &entry.run;
    let source = short(&entry.source_hash);
    let speedup = run.reference.as_ref().map(|reference| {
        let role = match reference.speedup {
            speedup if speedup >= 1.0 => Role::Good,
            _ => Role::Warn,
        };
        let over = match several {
            true => format!(" {}", reference.name),
            false => String::new(),
        };
        Cell::new(format!("{}×{over}", figure(reference.speedup)), role)
    });
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    [
        Cell::new(entry.title(), Role::Name),
        entry.size_set.clone().into(),
        match entry.record {
            true => Cell::new(format!("{source} record"), Role::Good),
            false => source.into(),
        },
        number::nanoseconds(run.median_ms * 1e6).into(),
        format!("{:.1} %", precision(entry)).into(),
        figure(run.gflops).into(),
        figure(run.gbps).into(),
        speedup.unwrap_or_else(|| "".into()),
        run.roofline.map_or(String::new(), percent).into(),
        changed_hands(entry).into(),
        entry.runs.to_string().into(),
        run.taken_at.get(..10).unwrap_or(&run.taken_at).into(),
    ]
}

fn modelled(times: &[Modelled], style: TextStyle) -> String {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::left("sizes").shrink(),
        Column::left("chip"),
        Column::right("time"),
        Column::right("from"),
        Column::right("to"),
        Column::left("limited by").shrink(),
    ])
    .painter(style.painter);
    for time in times {
        let show = |ms: f64| number::nanoseconds(ms * 1e6);
        table.row([
            format!("{} {}", time.kernel, time.dtype),
            time.size_set.clone(),
            time.chip.clone(),
            show(time.time_ms),
            show(time.low_ms),
            show(time.high_ms),
            time.limited_by.clone(),
        ]);
    }
    table.render(style.width)
}

fn claims(claims: &[Claim], style: TextStyle) -> String {
    let wide = style.width >= NARROW;
    let mut columns = vec![
        Column::left("kernel").shrink(),
        Column::left("device"),
        Column::right("time"),
    ];
    if wide {
        columns.push(Column::right("speed-up"));
        columns.push(Column::left("what speaks against it").shrink());
    }
    let mut table = Table::new(columns).painter(style.painter);
    for claim in claims {
        table.row([
            Cell::from(claim.kernel.clone()),
            claim.device.clone().into(),
            number::or_unknown(claim.time_ms.map(|ms| number::nanoseconds(ms * 1e6))).into(),
            claim.shown_speedup().into(),
            Cell::new(claim.doubts.join("; "), Role::Warn),
        ]);
    }
    table.render(style.width)
}

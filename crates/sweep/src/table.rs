//! Many kernels at once: a row for each.

use crate::report::{Figures, Row, Time};
use crate::text::{milliseconds, times, verdict};
use assay_report::blocks::View;
use assay_report::number;
use assay_report::style::Role;
use assay_report::table::{Cell, Column, Table};
use std::collections::BTreeSet;

/// Below so many columns, how near results are is left out.
const NARROW: usize = 70;

/// The table of these rows.
pub(crate) fn table(rows: &[Row], view: &View) -> String {
    let timed: Vec<&Time> = rows.iter().filter_map(|row| row.time.as_ref()).collect();
    let over = timed
        .iter()
        .filter_map(|time| time.scores.speedup_over.as_deref());
    let over: BTreeSet<&str> = over.collect();
    let shown = Shown {
        wide: view.width >= NARROW,
        timed: !timed.is_empty(),
        reference: rows.iter().any(|row| row.speedup().is_some()),
        several: over.len() > 1,
    };
    let origin = timed.first().map_or("", |time| time.origin.as_str());
    let mut table = Table::new(columns(shown, origin)).painter(view.painter);
    for row in rows {
        table.row(cells(row, shown));
    }
    table.render(view.width)
}

fn columns(shown: Shown, origin: &str) -> Vec<Column> {
    let mut columns = vec![
        Column::left("kernel").shrink(),
        Column::left("type"),
        Column::left("result"),
    ];
    if shown.wide {
        columns.extend([Column::right("ulp 50 %"), Column::right("99.9 %")]);
    }
    if shown.timed {
        columns.push(Column::right(match shown.wide {
            true => format!("time ({origin})"),
            false => origin.to_owned(),
        }));
        columns.push(Column::right("±"));
    }
    if shown.reference {
        columns.push(Column::right("speed"));
    }
    columns
}

/// What rows of a table show.
#[derive(Clone, Copy)]
struct Shown {
    /// How near results are.
    wide: bool,
    timed: bool,
    reference: bool,
    /// True if not all speed-ups are over the same reference, and each says which.
    several: bool,
}

fn cells(row: &Row, shown: Shown) -> Vec<Cell> {
    let (word, role) = match verdict(row) {
        (_, role) if row.refused.is_some() => ("refused", role),
        other => other,
    };
    let mut cells = vec![
        row.name.clone().into(),
        row.dtype.clone().into(),
        Cell::new(word, role),
    ];
    if shown.wide {
        let worst = row.worst.as_ref().filter(|_| row.right);
        let ulps = worst.map(|worst| [worst.ulps_half, worst.ulps_most]);
        cells.extend(match ulps {
            Some(ulps) => ulps.map(|ulps| Cell::from(number::grouped(ulps))),
            None => [Cell::from(""), Cell::from("")],
        });
    }
    let figures = row.time.as_ref().map(|time| &time.figures);
    if shown.timed {
        let time = figures.map_or(String::new(), |f| milliseconds(f.median_ms));
        let uncertainty = figures.map_or(String::new(), Figures::uncertainty);
        cells.extend([Cell::from(time), Cell::from(uncertainty)]);
    }
    if shown.reference {
        cells.push(compared_cell(row, shown.several));
    }
    cells
}

fn compared_cell(row: &Row, several: bool) -> Cell {
    let Some(speedup) = row.speedup() else {
        return Cell::from("");
    };
    let references = row.time.iter().flat_map(|time| &time.references);
    let verdict = references.filter_map(|one| one.verdict.as_deref()).next();
    let role = match verdict {
        Some("faster") => Role::Good,
        Some("slower") => Role::Warn,
        _ => Role::Dim,
    };
    let over = row
        .time
        .as_ref()
        .and_then(|time| time.scores.speedup_over.as_ref());
    let over = match over.filter(|_| several) {
        Some(over) => format!(" {over}"),
        None => String::new(),
    };
    Cell::new(format!("{}{over}", times(speedup)), role)
}

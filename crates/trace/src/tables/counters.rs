//! Hardware counters. Machine-wide, and by far the largest tables: several million
//! rows for a few seconds. Each counter is summed per millisecond.

use super::{Cells, TableSpec};
use crate::events::{Counter, Events};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        schema: "metal-gpu-counter-intervals",
        columns: &[
            "start",
            "duration",
            "counter-id",
            "name",
            "value",
            "percent-value",
        ],
        display_labels: false,
        read: interval,
    },
    TableSpec {
        schema: "gpu-counter-value",
        columns: &["timestamp", "counter-id", "value"],
        display_labels: false,
        read: |cells, events| {
            let time = cells.required(0)?;
            let id = cells.required(1)?;
            if let Some(value) = cells.float(2) {
                add(events.counters.entry(id).or_default(), time, value, 1.0);
            }
            Ok(())
        },
    },
    TableSpec {
        schema: "gpu-counter-info",
        columns: &["counter-id", "name"],
        display_labels: false,
        read: |cells, events| {
            let id = cells.required(0)?;
            let name = cells.text(1);
            events.counters.entry(id).or_default().name = name;
            Ok(())
        },
    },
];

fn interval(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let span = cells.span(0, 1)?;
    let id = cells.required(2)?;
    let name = cells.text(3);
    let value = cells.float(4).or_else(|| cells.float(5));
    let counter = events.counters.entry(id).or_default();
    counter.name = name;
    if let Some(value) = value {
        add(counter, span.start, value, span.duration().max(1) as f64);
    }
    Ok(())
}

fn add(counter: &mut Counter, time: u64, value: f64, weight: f64) {
    counter.rows += 1;
    counter.max = if counter.rows == 1 {
        value
    } else {
        counter.max.max(value)
    };
    let bucket = counter.buckets.entry(time / 1_000_000).or_default();
    bucket.0 += value * weight;
    bucket.1 += weight;
}

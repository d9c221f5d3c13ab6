//! Memory: resources, levels, and the driver wiring pages.

use super::{Cells, TableSpec};
use crate::events::{Allocation, Events, Level, Named};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        schema: "metal-driver-event-intervals",
        columns: &[
            "start",
            "duration",
            "event-type",
            "event-label",
            "process",
            "thread",
        ],
        display_labels: true,
        read: driver_memory,
    },
    TableSpec {
        schema: "metal-resource-allocations",
        columns: &[
            "timestamp",
            "duration",
            "resource-size",
            "event-type",
            "resource-type",
            "label",
            "process",
            "resource-id",
            "backtrace",
        ],
        display_labels: false,
        read: allocation,
    },
    TableSpec {
        schema: "metal-current-allocated-size",
        columns: &["start", "duration", "current-allocated-size", "process"],
        display_labels: false,
        read: |cells, events| {
            let level = level(cells)?;
            events.allocated.push(level);
            Ok(())
        },
    },
    TableSpec {
        schema: "metal-wired-sysmem-level-interval",
        columns: &["start", "duration", "bytes"],
        display_labels: false,
        read: |cells, events| {
            let level = level(cells)?;
            events.wired.push(level);
            Ok(())
        },
    },
];

fn level(cells: &Cells<'_>) -> Result<Level, String> {
    Ok(Level {
        span: cells.span(0, 1)?,
        bytes: cells.required(2)?,
        pid: cells.process(3),
    })
}

fn allocation(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let allocation = Allocation {
        time: cells.required(0)?,
        lifetime: cells.number(1)?.into(),
        bytes: cells.number(2)?.into(),
        kind: cells.text(3),
        resource: cells.text(4),
        label: cells.text(5),
        pid: cells.process(6),
        id: cells.number(7).ok().flatten().into(),
        stack: cells.stack(8).map(u64::from).into(),
    };
    events.allocations.push(allocation);
    Ok(())
}

fn driver_memory(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let span = cells.span(0, 1)?;
    let label = cells.text(3);
    let bytes = cells
        .size_inside(3)
        .or_else(|| size_in_text(cells.shared.texts.get(label)));
    let named = Named {
        span,
        kind: cells.text(2),
        label,
        pid: cells.process(4),
        thread: cells.thread(5),
        bytes: bytes.into(),
    };
    events.driver_memory.push(named);
    Ok(())
}

/// The size in a displayed text: `Wire 31.97 MiB System Memory (Success)`. Rounded as
/// the display is, so only used when the value itself is not there.
fn size_in_text(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).find_map(|pair| {
        let unit = match pair[1] {
            "Bytes" | "B" => 1u64,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        let value: f64 = pair[0].replace(',', "").parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some((value * unit as f64) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::size_in_text;

    #[test]
    fn sizes_are_found_in_displayed_text() {
        assert_eq!(
            size_in_text("Wire 2.5 MiB System Memory (Success)"),
            Some(2_621_440)
        );
        assert_eq!(size_in_text("Wire 1,024 Bytes"), Some(1024));
        assert_eq!(size_in_text("Page off"), None);
    }
}

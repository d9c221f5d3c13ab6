//! States of the machine over time: GPU busy or idle, clocks, heat.

use super::{Cells, TableSpec};
use crate::events::{Maybe, Named};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        schema: "metal-gpu-state-intervals",
        columns: &["start", "duration", "state"],
        display_labels: false,
        read: |cells, events| {
            let state = state(cells)?;
            events.gpu_states.push(state);
            Ok(())
        },
    },
    TableSpec {
        schema: "gpu-performance-state-intervals",
        columns: &["start", "duration", "gpu-performance-state"],
        display_labels: false,
        read: |cells, events| {
            let state = state(cells)?;
            events.clock_states.push(state);
            Ok(())
        },
    },
    TableSpec {
        schema: "device-thermal-state-intervals",
        columns: &["start", "duration", "thermal-state"],
        display_labels: false,
        read: |cells, events| {
            let state = state(cells)?;
            events.thermal_states.push(state);
            Ok(())
        },
    },
];

fn state(cells: &mut Cells<'_>) -> Result<Named, String> {
    Ok(Named {
        span: cells.span(0, 1)?,
        kind: cells.text(2),
        label: crate::TextId::EMPTY,
        pid: None,
        thread: None,
        bytes: Maybe::UNKNOWN,
    })
}

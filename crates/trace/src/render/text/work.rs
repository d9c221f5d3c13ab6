//! Throughput of operations, and another engine's run.

use super::page::Page;
use crate::analysis::document::*;
use crate::render::{baseline_cells, millis, part_of_chip, rate};
use assay_report::number::grouped;
use assay_report::style::Role;
use assay_report::table::Column;

impl Page {
    pub(super) fn throughput(&mut self, a: &Analysis) {
        if a.throughput.is_empty() {
            return;
        }
        self.heading(&format!(
            "Throughput of operations (times {}, work given)",
            a.recording.time_source
        ));
        let mut table = self.table([
            Column::right("share"),
            Column::right("total"),
            Column::right("count"),
            Column::right("GFLOP/s"),
            Column::right("of peak"),
            Column::right("GB/s"),
            Column::right("of memory"),
            Column::left("operation").shrink(),
        ]);
        for row in a.throughput.iter().take(self.style.top) {
            table.row([
                format!("{:.1} %", row.share * 100.0),
                millis(row.total_ms),
                grouped(row.count),
                rate(row.gflops),
                part_of_chip(row.of_compute),
                rate(row.gbs),
                part_of_chip(row.of_bandwidth),
                row.operation.clone(),
            ]);
        }
        self.show(&table);
        if let Some(chip) = &a.recording.chip {
            let note = self.paint(Role::Dim, &chip.note);
            self.wrapped("  ", &note);
        }
    }

    pub(super) fn baseline(&mut self, a: &Analysis) {
        let Some(baseline) = &a.baseline else {
            return;
        };
        self.heading(&format!("Beside {}", baseline.name));
        let mut table = self.table([
            Column::left("").shrink(),
            Column::right("this run"),
            Column::right(&baseline.name),
            Column::right("ratio"),
        ]);
        for row in &baseline.rows {
            let [measured, other, ratio] = baseline_cells(row);
            table.row([row.metric.clone(), measured, other, ratio]);
        }
        self.show(&table);
    }
}

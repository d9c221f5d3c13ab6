//! Copies, memory over the run, and who allocates.

use super::page::Page;
use crate::analysis::document::*;
use crate::render::strip::strip;
use crate::render::{gigabytes, millis, signed_bytes};
use assay_report::number::{bytes, grouped, or_unknown};
use assay_report::style::Role;
use assay_report::table::Column;

impl Page {
    pub(super) fn memory(&mut self, a: &Analysis) {
        let mut lines = copies(&a.transfers);
        lines.extend(levels(&a.memory));
        let memory = &a.memory;
        let silent = memory.allocators.is_empty()
            && memory.heap.is_empty()
            && memory.heap_callers.is_empty()
            && memory.leaks.is_none();
        if lines.is_empty() && silent {
            return;
        }
        self.heading("Copies and memory");
        for line in lines {
            self.wrapped("  ", &line);
        }
        self.level_strip(memory);
        self.unfreed(memory);
        self.allocators(memory);
        self.heap(memory);
        self.leaks(memory);
    }

    fn level_strip(&mut self, memory: &Memory) {
        let peak = memory.levels.iter().copied().fold(0.0, f64::max);
        if peak > 0.0 {
            let shares: Vec<f64> = memory.levels.iter().map(|level| level / peak).collect();
            self.line(&format!("  level   {}", strip(&shares)));
        }
    }

    fn unfreed(&mut self, memory: &Memory) {
        let mut table = self.table([
            Column::right("not freed"),
            Column::right("count"),
            Column::left("resource").shrink(),
            Column::left("allocated by").shrink(),
        ]);
        for group in memory.unfreed_groups.iter().take(self.style.top.min(6)) {
            let label = match group.label.as_str() {
                "" => group.resource.clone(),
                label => format!("{label} ({})", group.resource),
            };
            table.row([
                bytes(group.bytes),
                grouped(group.count),
                label,
                group.caller.clone().unwrap_or_default(),
            ]);
        }
        if !table.is_empty() {
            self.show(&table);
        }
    }

    fn allocators(&mut self, memory: &Memory) {
        let mut table = self.table([
            Column::right("Metal memory"),
            Column::right("resources"),
            Column::left("allocated by").shrink(),
            Column::left("in").shrink(),
        ]);
        for row in memory.allocators.iter().take(self.style.top.min(6)) {
            table.row([
                bytes(row.bytes),
                grouped(row.count),
                row.function.clone(),
                row.binary.clone(),
            ]);
        }
        if !table.is_empty() {
            self.show(&table);
        }
    }

    fn heap(&mut self, memory: &Memory) {
        let mut table = self.table([
            Column::right("heap, all"),
            Column::right("still there"),
            Column::right("blocks"),
            Column::left("category").shrink(),
        ]);
        for row in memory.heap.iter().take(self.style.top.min(8)) {
            table.row([
                bytes(row.total_bytes),
                bytes(row.persistent_bytes),
                grouped(row.total),
                row.category.clone(),
            ]);
        }
        if !table.is_empty() {
            self.show(&table);
        }
        let mut table = self.table([
            Column::right("heap, still there"),
            Column::right("blocks"),
            Column::left("allocated by").shrink(),
            Column::left("in").shrink(),
        ]);
        for row in memory.heap_callers.iter().take(self.style.top.min(6)) {
            table.row([
                bytes(row.bytes),
                grouped(row.count),
                row.caller.clone(),
                row.library.clone(),
            ]);
        }
        if !table.is_empty() {
            self.show(&table);
        }
    }

    fn leaks(&mut self, memory: &Memory) {
        let Some(leaks) = &memory.leaks else {
            return;
        };
        if leaks.is_empty() {
            self.line("  no leaks found");
            return;
        }
        let mut table = self.table([
            Column::right("leaked"),
            Column::right("count"),
            Column::left("object").shrink(),
            Column::left("allocated by").shrink(),
        ]);
        for leak in leaks.iter().take(self.style.top) {
            table.row([
                bytes(leak.bytes),
                grouped(leak.count),
                leak.object.clone(),
                format!("{} {}", leak.frame, leak.library)
                    .trim_end()
                    .to_owned(),
            ]);
        }
        self.show(&table);
    }

    pub(super) fn missing(&mut self, recording: &RecordingInfo) {
        if recording.missing.is_empty() {
            return;
        }
        self.heading("Not in the inputs");
        let verbose = self.style.verbose;
        for table in &recording.missing {
            self.wrapped("  - ", &format!("{}: {}", table.table, table.shows));
            if verbose {
                for command in table.record.iter().chain([&table.export]) {
                    self.line(&format!("      {command}"));
                }
            }
        }
        if !verbose {
            let note = "  -v shows the commands that record and export them";
            let note = self.paint(Role::Dim, note);
            self.line(&note);
        }
    }
}

fn copies(t: &Transfers) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    if t.blits > 0 {
        lines.push(format!(
            "{} blit executions, {} ({:.1} % of GPU time), volume {}{}",
            grouped(t.blits),
            millis(t.blit_ms),
            t.blit_share * 100.0,
            or_unknown(t.blit_bytes.map(bytes)),
            gigabytes(t.blit_gbs, t.blit_of_bandwidth)
        ));
    }
    if let Some(count) = t.wirings.filter(|&count| count > 0) {
        lines.push(format!(
            "memory wired {} times, {}, {}{}",
            grouped(count),
            millis(t.wiring_ms.unwrap_or(0.0)),
            or_unknown(t.wired_bytes.map(bytes)),
            gigabytes(t.wiring_gbs, None)
        ));
    }
    if let Some(count) = t.allocations.filter(|&count| count > 0) {
        lines.push(format!(
            "{} resources allocated ({}), {} freed",
            grouped(count),
            or_unknown(t.allocated_bytes.map(bytes)),
            or_unknown(t.deallocations.map(grouped))
        ));
    }
    lines
}

fn levels(memory: &Memory) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(first), Some(last), Some(peak)) =
        (memory.first_bytes, memory.last_bytes, memory.peak_bytes)
    {
        let growth = match (memory.growing, memory.growth_bytes_per_s) {
            (Some(true), Some(rate)) => {
                format!(", and keeps growing: {} per second", signed_bytes(rate))
            }
            (Some(false), Some(_)) => ", no lasting growth".to_owned(),
            _ => String::new(),
        };
        lines.push(format!(
            "Metal memory {} at the start, {} at the end, at most {}{growth}",
            bytes(first),
            bytes(last),
            bytes(peak)
        ));
    }
    if let Some(count) = memory.unfreed.filter(|&count| count > 0) {
        lines.push(format!(
            "{} resources allocated in the window were not freed ({})",
            grouped(count),
            or_unknown(memory.unfreed_bytes.map(bytes))
        ));
    }
    lines
}

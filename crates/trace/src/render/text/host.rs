//! What the host did meanwhile, and what it copied.

use super::page::Page;
use crate::analysis::document::*;
use crate::render::{micros, millis};
use assay_report::number::{bytes, grouped, or_unknown};
use assay_report::style::Role;
use assay_report::table::Column;

impl Page {
    pub(super) fn host(&mut self, a: &Analysis) {
        let cpu = &a.cpu;
        if cpu.encoders.is_none() && cpu.driver_ms.is_none() && cpu.while_gpu_waits.is_none() {
            return;
        }
        self.heading("Host");
        if let (Some(encoders), Some(time)) = (cpu.encoders, cpu.encode_ms) {
            self.wrapped(
                "  ",
                &format!(
                    "{} encoders encoded in {} (mean {})",
                    grouped(encoders),
                    millis(time),
                    micros(cpu.encode_mean_us)
                ),
            );
        }
        if let Some(driver) = cpu.driver_ms {
            self.wrapped(
                "  ",
                &format!("driver busy with them for {}", millis(driver)),
            );
        }
        match &cpu.while_gpu_waits {
            Some(activity) => self.activity(activity),
            None => {
                let note = "  no CPU samples: add the time-profile table to see what the host did while the GPU waited";
                let note = self.paint(Role::Dim, note);
                self.line(&note);
            }
        }
    }

    fn activity(&mut self, activity: &HostActivity) {
        self.wrapped("  ", &format!("while the GPU waited for the host ({}): {} samples, {} of CPU time; {} of them inside a wait for the GPU",
            millis(activity.host_wait_ms),
            grouped(activity.samples),
            millis(activity.sampled_ms),
            grouped(activity.waiting_samples)
        ));
        for (heading, functions) in [
            ("own time", &activity.functions),
            ("with callees", &activity.callers),
        ] {
            let mut table = self.table([
                Column::right(heading),
                Column::right("CPU"),
                Column::left("function").shrink(),
                Column::left("in").shrink(),
            ]);
            for function in functions.iter().take(self.style.top.min(6)) {
                table.row([
                    format!("{:.1} %", function.share * 100.0),
                    millis(function.ms),
                    function.function.clone(),
                    function.binary.clone(),
                ]);
            }
            if !table.is_empty() {
                self.show(&table);
            }
        }
        if !activity.threads.is_empty() {
            let thread = |t: &HostThread| format!("{} {}", t.thread, millis(t.ms));
            let threads: Vec<String> = activity.threads.iter().take(4).map(thread).collect();
            self.wrapped("  ", &format!("threads: {}", threads.join(", ")));
        }
    }

    pub(super) fn memory(&mut self, a: &Analysis) {
        let t = &a.transfers;
        let mut lines: Vec<String> = Vec::new();
        if t.blits > 0 {
            lines.push(format!(
                "{} blit executions, {} ({:.1} % of GPU time), volume {}",
                grouped(t.blits),
                millis(t.blit_ms),
                t.blit_share * 100.0,
                or_unknown(t.blit_bytes.map(bytes))
            ));
        }
        if let Some(count) = t.wirings.filter(|&count| count > 0) {
            lines.push(format!(
                "memory wired {} times, {}, {}",
                grouped(count),
                millis(t.wiring_ms.unwrap_or(0.0)),
                or_unknown(t.wired_bytes.map(bytes))
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
        if let Some(peak) = t.peak_allocated_bytes {
            lines.push(format!("at most {} allocated", bytes(peak)));
        }
        if lines.is_empty() {
            return;
        }
        self.heading("Copies and memory");
        for line in lines {
            self.wrapped("  ", &line);
        }
    }
}

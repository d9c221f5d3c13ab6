//! What the host did meanwhile.

use super::page::Page;
use crate::analysis::document::*;
use crate::render::{micros, millis};
use assay_report::number::grouped;
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
                let note = "no CPU samples: add the time-profile table to see what the host did while the GPU waited";
                let note = self.paint(Role::Dim, note);
                self.wrapped("  ", &note);
            }
        }
        if let Some(hot) = &cpu.hot {
            self.wrapped(
                "  ",
                &format!(
                    "in the whole window: {} samples, {} of CPU time",
                    grouped(hot.samples),
                    millis(hot.sampled_ms)
                ),
            );
            self.functions(&hot.functions, &hot.callers);
        }
    }

    fn activity(&mut self, activity: &HostActivity) {
        self.wrapped("  ", &format!("while the GPU waited for the host ({}): {} samples, {} of CPU time; {} of them inside a wait for the GPU",
            millis(activity.host_wait_ms),
            grouped(activity.samples),
            millis(activity.sampled_ms),
            grouped(activity.waiting_samples)
        ));
        self.functions(&activity.functions, &activity.callers);
        if !activity.threads.is_empty() {
            let thread = |t: &HostThread| format!("{} {}", t.thread, millis(t.ms));
            let threads: Vec<String> = activity.threads.iter().take(4).map(thread).collect();
            self.wrapped("  ", &format!("threads: {}", threads.join(", ")));
        }
    }

    /// Functions by their own time, and with what they call.
    fn functions(&mut self, own: &[HostFunction], with_callees: &[HostFunction]) {
        for (heading, functions) in [("own time", own), ("with callees", with_callees)] {
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
    }
}

//! Where the GPU waited.

use super::page::{Page, spread};
use crate::analysis::document::*;
use crate::render::{micros, millis};
use assay_report::bar::bar;
use assay_report::number::grouped;
use assay_report::table::Column;

impl Page {
    pub(super) fn gaps(&mut self, a: &Analysis) {
        let gaps = &a.gaps;
        if gaps.count == 0 {
            return;
        }
        self.heading("Gaps between executions");
        self.wrapped(
            "  ",
            &format!(
                "{} gaps, {} together: {}",
                grouped(gaps.count),
                millis(gaps.total_ms),
                spread(gaps.mean_us, gaps.median_us, gaps.p99_us, gaps.max_us)
            ),
        );
        self.wrapped(
            "  ",
            &format!(
                "{} host-late: {} waiting for the host, {} from commit to start{}",
                grouped(gaps.host_late),
                millis(gaps.host_wait_ms),
                millis(gaps.launch_ms),
                if gaps.contended_ms > 0.0 {
                    format!(
                        ", {} of it while others held the GPU",
                        millis(gaps.contended_ms)
                    )
                } else {
                    String::new()
                }
            ),
        );
        if gaps.unexplained_ms > 0.0 {
            self.wrapped(
                "  ",
                &format!(
                    "{} cannot be explained: the commit is not in the inputs",
                    millis(gaps.unexplained_ms)
                ),
            );
        }
        if let Some(parts) = &gaps.anatomy {
            self.wrapped("  ", &format!("an average synchronised gap: {:.1} µs to the completion notice, {:.1} µs on the host, {:.1} µs to launch",
                parts.notice_us, parts.host_us, parts.launch_us
            ));
        }
        if let Some(regularity) = &gaps.regularity {
            self.wrapped("  ", &crate::render::regularity(regularity));
        }
        let mut table = self.table([
            Column::right("length"),
            Column::right("gaps"),
            Column::right("together"),
            Column::left(""),
        ]);
        for bin in gaps.histogram.iter().filter(|bin| bin.count > 0) {
            let range = match bin.to_us {
                Some(to) => format!("{} to {to} µs", bin.from_us),
                None => format!("from {} µs", bin.from_us),
            };
            let share = bin.total_ms / gaps.total_ms.max(f64::MIN_POSITIVE);
            table.row([
                range,
                grouped(bin.count),
                millis(bin.total_ms),
                bar(share, 20),
            ]);
        }
        self.show(&table);
        if self.style.verbose {
            self.longest(&gaps.longest);
        }
    }

    fn longest(&mut self, gaps: &[GapInfo]) {
        let mut table = self.table([
            Column::right("longest"),
            Column::right("at"),
            Column::left("cause"),
            Column::left("before").shrink(),
            Column::left("after").shrink(),
        ]);
        for gap in gaps {
            table.row([
                micros(Some(gap.duration_us)),
                millis(gap.start_ms),
                gap.cause.clone(),
                gap.before.clone(),
                gap.after.clone(),
            ]);
        }
        self.show(&table);
    }
}

//! What the GPU did: timeline, figures, labels, other processes, states and counters.

use super::super::strip::{density, strip};
use super::page::{Page, spread};
use crate::analysis::document::*;
use crate::analysis::view::View;
use crate::events::Span;
use crate::render::{micros, millis, percent};
use assay_report::bar::bar;
use assay_report::number::{grouped, or_unknown};
use assay_report::style::Role;
use assay_report::table::Column;

impl Page {
    pub(super) fn timeline(&mut self, view: &View<'_>) {
        let window = view.window;
        self.heading(&format!(
            "Timeline, {} to {}",
            millis(window.start as f64 / 1e6),
            millis(window.end as f64 / 1e6)
        ));
        let width = self.style.width.saturating_sub(11).clamp(10, 100);
        let busy = view.busy();
        let lane = |spans: &[Span], window: Span| strip(&density(spans, window, width));
        self.line(&format!("  target  {}", lane(&busy, window)));
        let others: Vec<Span> = view.others.iter().filter_map(|s| s.clip(window)).collect();
        if !others.is_empty() {
            self.line(&format!("  others  {}", lane(&others, window)));
        }
        // Where the whole looks evenly thin, a close-up shows why.
        let middle = view.target.get(view.target.len() / 2);
        let span = window.duration();
        if let Some(middle) = middle
            && view.target.len() > 40
        {
            let length = (span / view.target.len() as u64)
                .saturating_mul(10)
                .max(1000);
            let close = Span::new(middle.span.start, length.min(span / 4).max(1));
            let first = busy.partition_point(|s| s.end <= close.start);
            let near: Vec<Span> = busy
                .iter()
                .skip(first)
                .take_while(|s| s.start < close.end)
                .copied()
                .collect();
            self.line(&format!(
                "  {} {}",
                self.paint(Role::Dim, "closer "),
                lane(&near, close)
            ));
            let note = format!(
                "  {:8}{} from {}",
                "",
                assay_report::number::nanoseconds(close.duration() as f64),
                millis(close.start as f64 / 1e6)
            );
            let note = self.paint(Role::Dim, &note);
            self.line(&note);
        }
    }

    pub(super) fn figures(&mut self, a: &Analysis) {
        self.heading(&format!("GPU ({})", a.recording.time_source));
        let mut table = self.table([Column::left(""), Column::left("").shrink()]);
        for (name, value) in figure_rows(a) {
            table.row([name.to_owned(), value]);
        }
        self.show(&table);
        if a.window.phases.len() > 1 {
            self.phases(&a.window.phases);
        }
    }

    fn phases(&mut self, phases: &[Phase]) {
        let mut table = self.table([
            Column::right("phase"),
            Column::right("start"),
            Column::right("length"),
            Column::right("busy"),
            Column::right("utilisation"),
            Column::right("executions"),
        ]);
        for phase in phases.iter().take(self.style.top.max(8)) {
            table.row([
                phase.number.to_string(),
                millis(phase.start_ms),
                millis(phase.span_ms),
                millis(phase.busy_ms),
                percent(phase.utilization),
                grouped(phase.executions),
            ]);
        }
        self.show(&table);
    }

    pub(super) fn labels(&mut self, a: &Analysis) {
        // Families only where they say something else than labels.
        let by_family = a.labels.len() > self.style.top && a.families.len() < a.labels.len();
        let rows = if by_family { &a.families } else { &a.labels };
        self.heading(if by_family {
            "GPU time by label (numbers ignored)"
        } else {
            "GPU time by label"
        });
        self.label_rows(rows);
        if !a.kernels.is_empty() && a.program.is_none() {
            self.heading("Dispatches by kernel (timed one by one: upper bounds)");
            self.label_rows(&a.kernels);
        }
    }

    fn label_rows(&mut self, rows: &[Label]) {
        let mut table = self.table([
            Column::right("share"),
            Column::right("total"),
            Column::right("count"),
            Column::right("mean"),
            Column::right("median"),
            Column::right("max"),
            Column::left("label").shrink(),
        ]);
        for label in rows.iter().take(self.style.top) {
            table.row([
                format!("{:.1} %", label.share * 100.0),
                millis(label.total_ms),
                grouped(label.count),
                micros(Some(label.mean_us)),
                micros(Some(label.median_us)),
                micros(Some(label.max_us)),
                label.label.clone(),
            ]);
        }
        self.show(&table);
        if rows.len() > self.style.top {
            let note = format!(
                "  and {} more (--top shows them)",
                rows.len() - self.style.top
            );
            let note = self.paint(Role::Dim, &note);
            self.line(&note);
        }
    }

    pub(super) fn others(&mut self, a: &Analysis) {
        if a.other_processes.is_empty() {
            return;
        }
        self.heading("Other processes on the GPU in the window");
        let mut table = self.table([
            Column::right("busy"),
            Column::right("executions"),
            Column::left("process").shrink(),
        ]);
        for other in a.other_processes.iter().take(5) {
            let name = match other.pid {
                Some(pid) => format!("{} ({pid})", other.name),
                None => other.name.clone(),
            };
            table.row([millis(other.busy_ms), grouped(other.count), name]);
        }
        self.show(&table);
    }

    pub(super) fn extras(&mut self, a: &Analysis) {
        for (heading, states) in [
            ("GPU clock", &a.clock_states),
            ("Thermal state", &a.thermal_states),
        ] {
            if !states.is_empty() {
                let state = |s: &StateShare| format!("{} {:.1} %", s.state, s.share * 100.0);
                let all: Vec<String> = states.iter().map(state).collect();
                self.heading(heading);
                self.wrapped("  ", &all.join(", "));
            }
        }
        if !a.shaders.is_empty() {
            self.heading("Shaders (share of samples; a small part of the run)");
            let mut table = self.table([
                Column::right("share"),
                Column::right("samples"),
                Column::left("shader").shrink(),
            ]);
            for shader in a.shaders.iter().take(self.style.top) {
                table.row([
                    format!("{:.1} %", shader.share * 100.0),
                    grouped(shader.samples),
                    shader.name.clone(),
                ]);
            }
            self.show(&table);
        }
        if !a.counters.is_empty() {
            self.heading("Counters (machine-wide)");
            let mut table = self.table([
                Column::left("counter").shrink(),
                Column::right("mean"),
                Column::right("max"),
                Column::right("values"),
            ]);
            let number = |value: Option<f64>| or_unknown(value.map(|value| format!("{value:.3}")));
            for counter in a
                .counters
                .iter()
                .take(if self.style.verbose { usize::MAX } else { 20 })
            {
                table.row([
                    counter.name.clone(),
                    number(counter.mean),
                    number(counter.max),
                    grouped(counter.rows),
                ]);
            }
            self.show(&table);
        }
    }
}

type Row = (&'static str, String);

fn figure_rows(a: &Analysis) -> Vec<Row> {
    let mut rows = time_rows(a);
    rows.extend(order_rows(a));
    rows
}

/// How long the GPU was busy, and how long each execution took to begin, run and be noticed.
fn time_rows(a: &Analysis) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |name: &'static str, value: String| rows.push((name, value));
    row(
        "window",
        format!("{} ({})", millis(a.window.span_ms), a.window.chosen_by),
    );
    let meter = bar(a.gpu.utilization, 20);
    row(
        "busy",
        format!(
            "{}  utilisation {} |{meter}|",
            millis(a.gpu.busy_ms),
            percent(a.gpu.utilization)
        ),
    );
    row(
        "busy for anybody",
        format!(
            "{} in the whole recording ({})",
            millis(a.gpu.machine_busy_ms),
            a.gpu.machine_busy_from
        ),
    );
    row(
        if a.recording.origin == "timing" {
            "command buffers"
        } else {
            "encoder executions"
        },
        format!(
            "{} of {} rows, in {} command buffers",
            grouped(a.intervals.rows_target),
            grouped(a.intervals.rows_total),
            grouped(a.intervals.command_buffers)
        ),
    );
    row(
        "execution",
        spread(
            a.intervals.mean_us,
            a.intervals.median_us,
            a.intervals.p99_us,
            a.intervals.max_us,
        ),
    );
    row(
        "commit to start",
        spread(
            a.latency.mean_us,
            a.latency.median_us,
            a.latency.p99_us,
            a.latency.max_us,
        ),
    );
    row(
        "end to completed",
        format!(
            "mean {}  ({} of {} command buffers joined)",
            micros(a.completion.gpu_end_to_completed_mean_us),
            grouped(a.completion.joined),
            grouped(a.intervals.command_buffers)
        ),
    );
    rows
}

/// How executions followed one another.
fn order_rows(a: &Analysis) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut row = |name: &'static str, value: String| rows.push((name, value));
    row(
        "synchronisation",
        format!(
            "{} strong and {} weak points in {} consecutive buffers",
            grouped(a.synchronisation.strong),
            grouped(a.synchronisation.weak),
            grouped(a.synchronisation.pairs)
        ),
    );
    if let (Some(mean), Some(max), Some(empty)) =
        (a.queue.mean_depth, a.queue.max_depth, a.queue.empty)
    {
        row(
            "queue depth",
            format!(
                "mean {mean:.2}, at most {max}, empty {:.1} % of the time",
                empty * 100.0
            ),
        );
    }
    if a.window.phases.len() > 1 {
        row(
            "phases",
            format!(
                "{} (pauses of {:.0} ms or more between them)",
                a.window.phases.len(),
                a.window.phase_gap_ms
            ),
        );
    }
    rows
}

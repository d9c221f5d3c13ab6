//! The report as text for a terminal.

use super::strip::{density, strip};
use super::{micros, millis, percent};
use crate::analysis::document::*;
use crate::analysis::view::View;
use crate::analysis::{Options, analyze_view};
use crate::error::Error;
use crate::events::Span;
use crate::recording::Recording;
use assay_report::bar::bar;
use assay_report::number::{bytes, grouped, or_unknown};
use assay_report::style::{Painter, Role};
use assay_report::table::{Column, Table, fitted};
use std::fmt::Write;

/// How to lay text out.
#[derive(Clone, Copy, Debug)]
pub struct TextStyle {
    /// Columns.
    pub width: usize,
    /// Colour, or none.
    pub painter: Painter,
    /// Rows per table.
    pub top: usize,
    /// Also what is usually left out: tables read, histogram, queue.
    pub verbose: bool,
}

/// The report on a recording.
pub fn report_text(
    recording: &Recording,
    options: &Options,
    style: TextStyle,
) -> Result<(Analysis, String), Error> {
    let view = View::new(recording, options)?;
    let analysis = analyze_view(&view, options);
    let mut page = Page {
        out: String::new(),
        style,
    };
    if recording.capture.is_none() {
        page.head(&analysis);
    }
    if let Some(capture) = &recording.capture {
        let text = super::super::capture::text::render(capture, style);
        page.out.push_str(&text);
    }
    if recording.capture.is_none() {
        page.verdict(&analysis.verdict);
        if analysis.intervals.rows_target > 0 {
            page.timeline(&view);
            page.figures(&analysis);
            page.gaps(&analysis);
            page.labels(&analysis);
            page.host(&analysis);
            page.memory(&analysis);
            page.others(&analysis);
            page.extras(&analysis);
        }
        page.findings(&analysis.findings);
    }
    if style.verbose {
        page.tables(&analysis.recording);
    }
    page.warnings(&analysis.recording.warnings);
    Ok((analysis, page.out))
}

struct Page {
    out: String,
    style: TextStyle,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let painted = self.style.painter.paint(Role::Heading, text);
        let _ = writeln!(self.out, "\n{painted}");
    }

    fn paint(&self, role: Role, text: &str) -> String {
        self.style.painter.paint(role, text)
    }

    fn table(&self, columns: impl IntoIterator<Item = Column>) -> Table {
        Table::new(columns).painter(self.style.painter).indent(2)
    }

    fn show(&mut self, table: &Table) {
        let text = table.render(self.style.width);
        self.out.push_str(&text);
    }

    fn head(&mut self, analysis: &Analysis) {
        let recording = &analysis.recording;
        let target = &recording.target;
        let name = target.name.as_deref().unwrap_or("(unknown process)");
        let mut title = self.paint(Role::Name, name);
        if let Some(pid) = target.pid {
            let _ = write!(title, " (pid {pid})");
        }
        if let Some(status) = target.exit_status {
            let _ = write!(title, ", exit status {status}");
        }
        self.line(&title);
        let mut parts: Vec<String> = Vec::new();
        let push = |parts: &mut Vec<String>, name: &str, value: &Option<String>| {
            if let Some(value) = value {
                parts.push(format!("{name}{value}"));
            }
        };
        push(&mut parts, "", &recording.model);
        push(&mut parts, "GPU ", &recording.gpu);
        push(&mut parts, "macOS ", &recording.os_version);
        push(&mut parts, "Instruments ", &recording.instruments_version);
        if let Some(duration) = recording.duration_s {
            parts.push(format!("recorded for {duration:.3} s"));
        }
        if !parts.is_empty() {
            let line = fitted(&parts.join(" · "), self.style.width);
            let line = self.paint(Role::Dim, &line);
            self.line(&line);
        }
    }

    fn verdict(&mut self, verdict: &Verdict) {
        let role = match verdict.kind {
            VerdictKind::KernelBound => Role::Good,
            VerdictKind::Mixed => Role::Warn,
            _ => Role::Bad,
        };
        let word = self.paint(role, verdict.kind.word());
        let confidence = verdict.confidence.word();
        self.out.push('\n');
        self.wrapped(
            "",
            &format!(
                "verdict: {word} ({confidence} confidence): {}",
                verdict.summary
            ),
        );
        for evidence in &verdict.evidence {
            self.wrapped("  - ", evidence);
        }
        if !verdict.also.is_empty() {
            let also: Vec<&str> = verdict.also.iter().map(|kind| kind.word()).collect();
            self.line(&format!("  in part also {}", also.join(", ")));
        }
    }

    /// A paragraph, its first line behind `bullet`, the others under it.
    fn wrapped(&mut self, bullet: &str, text: &str) {
        let room = self
            .style
            .width
            .saturating_sub(bullet.chars().count())
            .max(20);
        let mut line = String::new();
        let mut first = true;
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                self.bulleted(bullet, &line, first);
                first = false;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            self.bulleted(bullet, &line, first);
        }
    }

    fn bulleted(&mut self, bullet: &str, line: &str, first: bool) {
        if first {
            self.line(&format!("{bullet}{line}"));
        } else {
            let blank = " ".repeat(bullet.chars().count());
            self.line(&format!("{blank}{line}"));
        }
    }

    fn timeline(&mut self, view: &View<'_>) {
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

    fn figures(&mut self, a: &Analysis) {
        self.heading(&format!("GPU ({})", a.recording.time_source));
        let mut rows: Vec<(String, String)> = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
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
        let mut table = self.table([Column::left(""), Column::left("").shrink()]);
        for (name, value) in rows {
            table.row([name, value]);
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

    fn gaps(&mut self, a: &Analysis) {
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

    fn labels(&mut self, a: &Analysis) {
        // Families only where they say something else than labels.
        let by_family = a.labels.len() > self.style.top && a.families.len() < a.labels.len();
        let rows = if by_family { &a.families } else { &a.labels };
        self.heading(if by_family {
            "GPU time by label (numbers ignored)"
        } else {
            "GPU time by label"
        });
        self.label_rows(rows);
        if !a.kernels.is_empty() {
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

    fn host(&mut self, a: &Analysis) {
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

    fn memory(&mut self, a: &Analysis) {
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

    fn others(&mut self, a: &Analysis) {
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

    fn extras(&mut self, a: &Analysis) {
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

    fn findings(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        self.heading("Findings");
        for finding in findings {
            let role = match finding.severity {
                Severity::High => Role::Bad,
                Severity::Medium => Role::Warn,
                Severity::Low => Role::Dim,
            };
            let severity = self.paint(role, finding.severity.word());
            let rule = self.paint(Role::Dim, &format!("[{}]", finding.rule));
            self.line(&format!("  {severity} {rule}"));
            self.wrapped("    ", &finding.message);
            self.wrapped("    → ", &finding.advice);
            if let Some(gain) = &finding.gain {
                self.wrapped("      gain: ", gain);
            }
        }
    }

    fn tables(&mut self, recording: &RecordingInfo) {
        self.heading("Tables read");
        let mut table = self.table([
            Column::left("table").shrink(),
            Column::right("rows"),
            Column::right("unusable"),
            Column::left("used"),
            Column::left("file").shrink(),
        ]);
        for read in &recording.tables {
            table.row([
                read.schema.clone(),
                grouped(read.rows),
                grouped(read.unusable),
                if read.used { "yes" } else { "no" }.to_owned(),
                read.input.clone(),
            ]);
        }
        self.show(&table);
    }

    fn warnings(&mut self, warnings: &[String]) {
        if warnings.is_empty() {
            return;
        }
        self.heading("Warnings");
        for warning in warnings {
            self.wrapped("  - ", warning);
        }
    }
}

/// `mean 1 µs, median 2 µs, p99 3 µs, max 4 µs`.
fn spread(mean: Option<f64>, median: Option<f64>, p99: Option<f64>, max: Option<f64>) -> String {
    format!(
        "mean {}, median {}, p99 {}, max {}",
        micros(mean),
        micros(median),
        micros(p99),
        micros(max)
    )
}

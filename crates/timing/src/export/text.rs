//! The table people read.

use crate::check::{Comparison, CrossCheck, Verdict};
use crate::clock::ClockQuality;
use crate::sample::TimeSource;
use crate::snapshot::{LabelStats, Snapshot};
use crate::timeline::Timeline;
use std::fmt::Write;

/// How much the text report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Labels and kernels shown, the largest first; the rest is summed up in a line.
    pub top: usize,
    /// Gaps and warnings listed.
    pub details: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            top: 20,
            details: 5,
        }
    }
}

impl Snapshot {
    /// The report as text: a table per label, one per kernel if there are dispatches,
    /// utilisation and gaps, the cross-check, and everything that is missing.
    ///
    /// ```
    /// let recorder = assay_timing::Recorder::new();
    /// recorder.record("attention", 2_500_000);
    /// let text = recorder.snapshot().to_text();
    /// assert!(text.starts_with("[CB_PROFILE] total=2.50 ms across 1 labels\n"));
    /// ```
    pub fn to_text(&self) -> String {
        self.to_text_with(TextOptions::default())
    }

    /// The same, longer or shorter.
    pub fn to_text_with(&self, options: TextOptions) -> String {
        let mut out = String::new();
        let source = match self.time_source {
            TimeSource::Measured => "",
            TimeSource::Modelled => " (modelled, not measured)",
            TimeSource::Host => " (host time, not the GPU's)",
        };
        table(
            &mut out,
            "CB_PROFILE",
            "labels",
            source,
            &self.labels,
            options.top,
        );
        if !self.kernels.is_empty() {
            table(
                &mut out,
                "DISPATCH_PROFILE",
                "kernels",
                source,
                &self.kernels,
                options.top,
            );
            line(
                &mut out,
                "DISPATCH_PROFILE",
                "dispatch times are serialised: upper bounds, not shares of the command buffers",
            );
        }
        timeline(&mut out, &self.timeline(), options.details);
        cross_check(&mut out, &self.cross_check(), options.details);
        self.clock_line(&mut out);
        self.losses_lines(&mut out);
        for note in &self.notes {
            line(&mut out, "NOTE", note);
        }
        out
    }

    fn clock_line(&self, out: &mut String) {
        let (fit, counts) = (&self.clock.fit, &self.clock.counts);
        let pairs = counts.accepted + counts.outliers + counts.unreadable;
        if pairs == 0 && self.dispatches.is_empty() {
            return;
        }
        let basis = match fit.quality {
            ClockQuality::Assumed => "no clock pair: 1 tick taken for 1 ns, unverified".to_owned(),
            ClockQuality::SinglePair => format!(
                "one clock pair: ratio {:.6} ns per tick, right only if both clocks started together",
                fit.ns_per_tick
            ),
            ClockQuality::Fitted => format!(
                "{:.6} ns per tick from {} pairs, spread {:.1} µs",
                fit.ns_per_tick,
                counts.accepted,
                us(fit.spread_ns as f64)
            ),
        };
        let mut text = basis;
        let odd = [
            (counts.outliers, "pairs that did not fit"),
            (counts.unreadable, "unreadable pairs"),
            (counts.wraps, "counter wraps"),
            (counts.restarts, "new starts after the clocks changed"),
        ];
        for (count, what) in odd.into_iter().filter(|(count, _)| *count > 0) {
            let _ = write!(text, "; {count} {what}");
        }
        line(out, "CLOCK", &text);
    }

    fn losses_lines(&self, out: &mut String) {
        for (reason, count) in self.invalid().iter() {
            line(
                out,
                "LOST",
                &format!("{count} samples invalid: {}", reason.description()),
            );
        }
        let losses = &self.losses;
        let counted = [
            (
                losses.dispatches_dropped,
                "dispatches overwritten in the ring (their kernels' totals still have them)",
            ),
            (
                losses.command_buffers_dropped,
                "command buffers overwritten in the ring (their labels' totals still have them)",
            ),
            (
                losses.labels.overflowed,
                "lookups found the label table full: their samples are under the overflow label",
            ),
            (
                losses.labels.truncated,
                "lookups of labels longer than 256 bytes, which were cut",
            ),
            (losses.labels.not_utf8, "labels were not UTF-8"),
            (losses.pending, "command buffers still pending"),
            (
                losses.implausible,
                "samples of 2^63 ns or more, recorded as given: probably negative differences",
            ),
            (
                losses.torn_reads,
                "labels were read in the middle of a record",
            ),
        ];
        for (count, what) in counted.into_iter().filter(|(count, _)| *count > 0) {
            line(out, "LOST", &format!("{count} {what}"));
        }
    }
}

fn line(out: &mut String, tag: &str, text: &str) {
    let _ = writeln!(out, "[{tag}] {text}");
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

fn us(ns: f64) -> f64 {
    ns / 1e3
}

/// A label fit for one line of a terminal.
fn printable(label: &str) -> String {
    if label.is_empty() {
        return "(empty label)".to_owned();
    }
    label
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn table(out: &mut String, tag: &str, what: &str, source: &str, stats: &[LabelStats], top: usize) {
    let total: u128 = stats.iter().map(|label| label.total_ns).sum();
    let total_ms = ms(total as f64);
    line(
        out,
        tag,
        &format!(
            "total={total_ms:.2} ms across {} {what}{source}",
            stats.len()
        ),
    );
    if stats.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "  {:>6}  {:>10}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  label",
        "share", "total ms", "count", "mean µs", "p50 µs", "p99 µs", "min µs", "max µs"
    );
    let share = |ns: u128| {
        if total == 0 {
            0.0
        } else {
            100.0 * ns as f64 / total as f64
        }
    };
    for label in stats.iter().take(top) {
        let invalid = match label.invalid.total() {
            0 => String::new(),
            count => format!("  ({count} invalid)"),
        };
        let _ = writeln!(
            out,
            "  {:>5.1}%  {:>10.2}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  {:>9}  {}{invalid}",
            share(label.total_ns),
            ms(label.total_ns as f64),
            label.count,
            time(label, label.mean_ns()),
            time(label, label.percentile(50.0).map(|ns| ns as f64)),
            time(label, label.percentile(99.0).map(|ns| ns as f64)),
            time(label, Some(label.min_ns as f64)),
            time(label, Some(label.max_ns as f64)),
            printable(&label.label),
        );
    }
    let rest = stats.get(top..).unwrap_or_default();
    if !rest.is_empty() {
        let ns: u128 = rest.iter().map(|label| label.total_ns).sum();
        let count: u64 = rest.iter().map(|label| label.count).sum();
        let _ = writeln!(
            out,
            "  {:>5.1}%  {:>10.2}  {count:>8}  … {} more {what}",
            share(ns),
            ms(ns as f64),
            rest.len()
        );
    }
}

/// A duration in microseconds, or a dash where nothing was measured.
fn time(label: &LabelStats, ns: Option<f64>) -> String {
    match ns.filter(|_| label.count > 0) {
        Some(ns) => format!("{:.1}", us(ns)),
        None => "-".to_owned(),
    }
}

fn timeline(out: &mut String, timeline: &Timeline, details: usize) {
    let Some(utilization) = timeline.utilization() else {
        return;
    };
    let gaps = timeline.gaps.len();
    line(
        out,
        "TIMELINE",
        &format!(
            "busy {:.2} of {:.2} ms ({:.1} %) in {} command buffers, {gaps} gaps of {:.2} ms together",
            ms(timeline.busy_ns as f64),
            ms(timeline.span_ns as f64),
            100.0 * utilization,
            timeline.command_buffers,
            ms(timeline.idle_ns() as f64),
        ),
    );
    let known = timeline
        .gaps
        .iter()
        .filter(|gap| gap.host_wait_ns.is_some())
        .count();
    if known > 0 {
        line(
            out,
            "TIMELINE",
            &format!(
                "of {known} gaps with a known commit: {:.2} ms waiting for the host, {:.2} ms launch delay",
                ms(timeline.host_wait_ns as f64),
                ms(timeline.launch_ns as f64),
            ),
        );
    }
    let mut longest: Vec<_> = timeline.gaps.iter().collect();
    longest.sort_by_key(|gap| std::cmp::Reverse(gap.duration_ns()));
    for gap in longest.into_iter().take(details) {
        let cause = match (gap.host_wait_ns, gap.launch_ns) {
            (Some(host), Some(launch)) => {
                format!(
                    "host {:.1} + launch {:.1} µs",
                    us(host as f64),
                    us(launch as f64)
                )
            }
            _ => "cause not known".to_owned(),
        };
        let _ = writeln!(
            out,
            "  gap {:>9.1} µs  {cause}  after {}, before {}",
            us(gap.duration_ns() as f64),
            printable(&gap.after),
            printable(&gap.before),
        );
    }
}

fn cross_check(out: &mut String, check: &CrossCheck, details: usize) {
    let rows: Vec<&Comparison> = check.rows().collect();
    if rows.is_empty() && check.incomplete == 0 {
        return;
    }
    let count =
        |wanted: fn(&Verdict) -> bool| rows.iter().filter(|row| wanted(&row.verdict)).count();
    let dispatch_ns: u128 = rows.iter().map(|row| row.dispatch_ns).sum();
    let buffer_ns: u128 = rows.iter().map(|row| row.buffer_ns).sum();
    line(
        out,
        "CROSS_CHECK",
        &format!(
            "dispatches {:.2} ms against command buffers {:.2} ms ({:+.1} %): {} agree, {} below, {} above",
            ms(dispatch_ns as f64),
            ms(buffer_ns as f64),
            100.0 * (dispatch_ns as f64 / (buffer_ns as f64).max(1.0) - 1.0),
            count(|verdict| *verdict == Verdict::Agrees),
            count(|verdict| matches!(verdict, Verdict::SamplesMissing(_))),
            count(|verdict| matches!(verdict, Verdict::SerialisationCost | Verdict::SuspectClock)),
        ),
    );
    let above: u128 = rows
        .iter()
        .map(|row| row.dispatch_ns.saturating_sub(row.buffer_ns))
        .sum();
    if above > 0 {
        let text = format!(
            "{:.2} ms above: what timing dispatches one by one costs",
            ms(above as f64)
        );
        line(out, "CROSS_CHECK", &text);
    }
    let suspects = count(|verdict| *verdict == Verdict::SuspectClock);
    if suspects > 0 {
        let text = format!(
            "note: {suspects} over 10 % above without an encoder per dispatch: check the clock"
        );
        line(out, "CROSS_CHECK", &text);
    }
    if check.incomplete > 0 {
        let text = format!(
            "{} command buffers not checked: the ring lost some of their dispatches",
            check.incomplete
        );
        line(out, "CROSS_CHECK", &text);
    }
    warnings(out, check, details);
}

fn warnings(out: &mut String, check: &CrossCheck, details: usize) {
    for (shown, row) in check.warnings().enumerate() {
        if shown == details {
            let more = check.warnings().count() - details;
            let _ = writeln!(out, "  … and {more} more");
            break;
        }
        let Verdict::SamplesMissing(cause) = row.verdict else {
            continue;
        };
        let _ = writeln!(
            out,
            "  warning: {}: dispatches are {:.1} % of the command buffer's time; likely {}",
            printable(&row.label),
            100.0 * row.ratio(),
            cause.description(),
        );
    }
}

//! The report as JSON, schema `assay.timing`.

use super::json::{Document, Object, quote};
use crate::check::{Comparison, Verdict};
use crate::sample::InvalidCounts;
use crate::snapshot::{LabelStats, Snapshot};
use crate::timeline::{Gap, Timeline};

impl Snapshot {
    /// The report as JSON: `{"schema": {"name": "assay.timing", "version": 1}, …}` with
    /// `labels`, `kernels`, `timeline`, `gaps`, `cross_check`, `losses`, `clock`, `notes`.
    /// Times are whole nanoseconds, shares lie between 0 and 1.
    pub fn to_json(&self) -> String {
        let mut document = Document::new("assay.timing", 1);
        document.member("time_source", &quote(self.time_source.name()));
        document.member("process", &self.process_json());
        document.member("total_ns", &self.total_ns().to_string());
        document.array("labels", rows(&self.labels));
        document.array("kernels", rows(&self.kernels));
        let timeline = self.timeline();
        document.member("timeline", &timeline_json(&timeline));
        document.array("gaps", timeline.gaps.iter().map(gap_json));
        let check = self.cross_check();
        document.array("cross_check", check.rows().map(comparison_json));
        document.member("losses", &self.losses_json(check.incomplete));
        document.member("clock", &self.clock_json());
        document.array("notes", self.notes.iter().map(|note| quote(note)));
        document.close()
    }

    pub(super) fn process_json(&self) -> String {
        let process = Object::new().string("name", &self.process.name);
        process.number("pid", self.process.pid).close()
    }

    pub(super) fn losses_json(&self, cross_check_incomplete: usize) -> String {
        let losses = &self.losses;
        Object::new()
            .raw("invalid", &invalid_json(&self.invalid()))
            .number("dispatches_dropped", losses.dispatches_dropped)
            .number("command_buffers_dropped", losses.command_buffers_dropped)
            .number("labels_overflowed", losses.labels.overflowed)
            .number("labels_truncated", losses.labels.truncated)
            .number("labels_not_utf8", losses.labels.not_utf8)
            .number("pending", losses.pending)
            .number("implausible", losses.implausible)
            .number("torn_reads", losses.torn_reads)
            .number("cross_check_incomplete", cross_check_incomplete)
            .close()
    }

    pub(super) fn clock_json(&self) -> String {
        let (fit, counts) = (&self.clock.fit, &self.clock.counts);
        Object::new()
            .string("quality", fit.quality.name())
            .float("ns_per_tick", Some(fit.ns_per_tick), 9)
            .number("spread_ns", fit.spread_ns)
            .number("accepted", counts.accepted)
            .number("outliers", counts.outliers)
            .number("unreadable", counts.unreadable)
            .number("wraps", counts.wraps)
            .number("restarts", counts.restarts)
            .close()
    }
}

fn rows(stats: &[LabelStats]) -> impl Iterator<Item = String> {
    let total: u128 = stats.iter().map(|label| label.total_ns).sum();
    stats.iter().map(move |label| label_json(label, total))
}

fn label_json(label: &LabelStats, total: u128) -> String {
    let measured = (label.count > 0).then_some(label);
    let percentile = |percent| measured.and_then(|label| label.percentile(percent));
    let share = (total > 0).then(|| label.total_ns as f64 / total as f64);
    let buckets: Vec<String> = label
        .histogram
        .buckets
        .iter()
        .map(|bucket| format!("[{}, {}, {}]", bucket.low_ns, bucket.high_ns, bucket.count))
        .collect();
    Object::new()
        .string("label", &label.label)
        .number("count", label.count)
        .number("total_ns", label.total_ns)
        .float("share", share, 6)
        .float("mean_ns", label.mean_ns(), 1)
        .optional("p50_ns", percentile(50.0))
        .optional("p90_ns", percentile(90.0))
        .optional("p99_ns", percentile(99.0))
        .optional("min_ns", measured.map(|label| label.min_ns))
        .optional("max_ns", measured.map(|label| label.max_ns))
        .raw("invalid", &invalid_json(&label.invalid))
        .raw("histogram", &format!("[{}]", buckets.join(", ")))
        .close()
}

fn invalid_json(invalid: &InvalidCounts) -> String {
    let mut object = Object::new();
    for (reason, count) in invalid.iter() {
        object = object.number(reason.name(), count);
    }
    object.close()
}

fn timeline_json(timeline: &Timeline) -> String {
    Object::new()
        .number("command_buffers", timeline.command_buffers)
        .number("span_ns", timeline.span_ns)
        .number("busy_ns", timeline.busy_ns)
        .float("utilization", timeline.utilization(), 6)
        .number("overlap_ns", timeline.overlap_ns)
        .number("idle_ns", timeline.idle_ns())
        .number("host_wait_ns", timeline.host_wait_ns)
        .number("launch_ns", timeline.launch_ns)
        .close()
}

fn gap_json(gap: &Gap) -> String {
    Object::new()
        .number("start_ns", gap.start_ns)
        .number("end_ns", gap.end_ns)
        .string("after", &gap.after)
        .string("before", &gap.before)
        .optional("host_wait_ns", gap.host_wait_ns)
        .optional("launch_ns", gap.launch_ns)
        .close()
}

fn comparison_json(row: &Comparison) -> String {
    let cause = match row.verdict {
        Verdict::SamplesMissing(cause) => quote(cause.name()),
        _ => "null".to_owned(),
    };
    // A label's totals belong to no command buffer.
    let command_buffer = Some(row.command_buffer.get()).filter(|id| *id != 0);
    Object::new()
        .string("label", &row.label)
        .optional("command_buffer", command_buffer)
        .number("dispatches", row.dispatches)
        .number("dispatch_ns", row.dispatch_ns)
        .number("buffer_ns", row.buffer_ns)
        .float("ratio", Some(row.ratio()), 6)
        .string("verdict", row.verdict.name())
        .raw("likely_cause", &cause)
        .close()
}

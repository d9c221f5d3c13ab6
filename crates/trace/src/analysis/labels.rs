//! GPU time by label, and by family of labels.

use super::document::{Channel, Intervals, Label};
use super::stats::{Summary, fraction, ms, us};
use super::view::View;
use crate::events::Span;
use std::collections::BTreeMap;

/// What stands for work that carries no label.
pub(crate) const UNLABELLED: &str = "(unlabelled)";

/// The label of an execution: that of the GPU row, else that of its encoder.
pub(crate) fn of(view: &View<'_>) -> Vec<String> {
    let mut encoders: rustc_hash::FxHashMap<u64, (crate::TextId, crate::TextId)> =
        rustc_hash::FxHashMap::default();
    for encoding in &view.recording.events.encodings {
        encoders.insert(encoding.encoder, (encoding.buffer_label, encoding.label));
    }
    let label = |interval: &&crate::GpuInterval| {
        let label = view.text(interval.label).trim();
        if !label.is_empty() {
            return label.to_owned();
        }
        match encoders.get(&interval.encoder) {
            Some(&(buffer, encoder)) => {
                format!("{}:{}", view.text(buffer).trim(), view.text(encoder).trim())
            }
            None => UNLABELLED.to_owned(),
        }
    };
    view.target.iter().map(label).collect()
}

/// The label with every number replaced by `#`: `layer 7:qkv` and `layer 8:qkv` are one
/// family.
///
/// ```
/// assert_eq!(assay_trace::label_family("Command Buffer 0:layer12_qkv"), "Command Buffer #:layer#_qkv");
/// ```
pub fn label_family(label: &str) -> String {
    let mut out = String::with_capacity(label.len());
    let mut in_number = false;
    for character in label.chars() {
        if character.is_ascii_digit() {
            if !in_number {
                out.push('#');
            }
            in_number = true;
        } else {
            in_number = false;
            out.push(character);
        }
    }
    out
}

/// Whether a label is one Metal makes up for an unlabelled encoder:
/// `Command Buffer 0:Compute Command 0`.
pub(crate) fn is_default(label: &str) -> bool {
    let family = label_family(label);
    let (buffer, encoder) = family.split_once(':').unwrap_or(("", &family));
    let encoder_default = matches!(
        encoder,
        "Compute Command #" | "Blit Command #" | "Render Command #"
    );
    label == UNLABELLED || (encoder_default && (buffer.is_empty() || buffer == "Command Buffer #"))
}

/// Whether a label names a copy. Blits run on the compute channel of Apple GPUs, so
/// nothing but the label tells.
pub(crate) fn is_blit(label: &str) -> bool {
    let lower = label.to_ascii_lowercase();
    lower.contains("blit") || lower.contains("memcpy") || lower.contains("copy_contiguous")
}

/// Sums executions by the key of their label, largest first.
pub(crate) fn table<'a>(
    view: &View<'_>,
    labels: &'a [String],
    key: impl Fn(&'a str) -> String,
) -> Vec<Label> {
    let mut groups: BTreeMap<&'a str, Vec<u64>> = BTreeMap::new();
    for (interval, label) in view.target.iter().zip(labels) {
        groups
            .entry(label)
            .or_default()
            .push(interval.span.duration());
    }
    let mut merged: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (label, durations) in groups {
        merged.entry(key(label)).or_default().extend(durations);
    }
    ranked(merged)
}

/// Dispatches by kernel, where the recording times them.
pub(crate) fn kernels(view: &View<'_>) -> Vec<Label> {
    let mut groups: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for dispatch in &view.recording.events.dispatches {
        if dispatch.span.clip(view.window).is_some() {
            let kernel = view.text(dispatch.kernel).to_owned();
            groups
                .entry(kernel)
                .or_default()
                .push(dispatch.span.duration());
        }
    }
    ranked(groups)
}

/// Groups of durations as rows, the largest first.
fn ranked(groups: BTreeMap<String, Vec<u64>>) -> Vec<Label> {
    let whole: u64 = groups.values().flatten().sum();
    let row = |(label, durations): (String, Vec<u64>)| {
        let summary = Summary::new(durations);
        Label {
            label,
            count: summary.count(),
            total_ms: ms(summary.sum()),
            share: fraction(summary.sum() as f64, whole as f64),
            mean_us: summary.mean().map_or(0.0, us),
            median_us: summary.median().map_or(0.0, us),
            max_us: summary.max().map_or(0.0, us),
        }
    };
    let mut rows: Vec<Label> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        b.total_ms
            .total_cmp(&a.total_ms)
            .then(a.label.cmp(&b.label))
    });
    rows
}

pub(crate) fn intervals(view: &View<'_>) -> Intervals {
    let gpu = &view.recording.events.gpu;
    let summary = Summary::new(view.target.iter().map(|i| i.span.duration()).collect());
    let mut channels: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for interval in &view.target {
        if let Some(span) = interval.span.clip(view.window) {
            channels
                .entry(view.text(interval.channel))
                .or_default()
                .push(span);
        }
    }
    let channel = |(channel, spans): (&str, Vec<Span>)| Channel {
        channel: channel.to_owned(),
        count: spans.len() as u64,
        busy_ms: ms(super::stats::total(&super::stats::union(spans))),
    };
    Intervals {
        rows_total: gpu.len() as u64,
        rows_target: summary.count(),
        rows_without_process: gpu.iter().filter(|i| i.pid.is_none()).count() as u64,
        command_buffers: view.buffers.len() as u64,
        mean_us: summary.mean().map(us),
        median_us: summary.median().map(us),
        p99_us: summary.percentile(0.99).map(us),
        min_us: summary.min().map(us),
        max_us: summary.max().map(us),
        channels: channels.into_iter().map(channel).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metals_own_labels_are_recognised() {
        for label in [
            "Command Buffer 0:Compute Command 0",
            "Compute Command 12",
            "Command Buffer 3:Blit Command 1",
            UNLABELLED,
        ] {
            assert!(is_default(label), "{label}");
        }
        for label in [
            "matmul",
            "Command Buffer 0:matmul",
            "decode:Compute Command 0",
        ] {
            assert!(!is_default(label), "{label}");
        }
    }
}

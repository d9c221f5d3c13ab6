//! GPU time by label, and by family of labels.

use super::document::{Channel, Intervals, Label};
use super::stats::{RunningUnion, Summary, fraction, ms, us};
use super::view::View;
use crate::xml::text::TextId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What stands for work that carries no label.
pub(crate) const UNLABELLED: &str = "(unlabelled)";

/// The labels of the target's executions: each text once, a number per execution.
pub(crate) struct Labels {
    pub(crate) names: Vec<String>,
    /// In the order of [`View::target`].
    pub(crate) ids: Vec<u32>,
}

impl Labels {
    /// The label of each execution.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        let name = |&id: &u32| self.names.get(id as usize).map_or("", String::as_str);
        self.ids.iter().map(name)
    }
}

/// The label of each execution: that of the GPU row, else that of its encoder.
pub(crate) fn of(view: &View<'_>) -> Labels {
    let mut encoders: FxHashMap<u64, (TextId, TextId)> = FxHashMap::default();
    if view
        .target
        .iter()
        .any(|i| view.text(i.label).trim().is_empty())
    {
        for encoding in &view.recording.events.encodings {
            encoders.insert(encoding.encoder, (encoding.buffer_label, encoding.label));
        }
    }
    let mut known: FxHashMap<(TextId, TextId, TextId), u32> = FxHashMap::default();
    let mut labels = Labels {
        names: Vec::new(),
        ids: Vec::with_capacity(view.target.len()),
    };
    for interval in &view.target {
        let plain = view.text(interval.label).trim();
        let (buffer, encoder) = match plain.is_empty() {
            true => encoders.get(&interval.encoder).copied().unwrap_or_default(),
            false => Default::default(),
        };
        let id = *known
            .entry((interval.label, buffer, encoder))
            .or_insert_with(|| {
                labels.names.push(if !plain.is_empty() {
                    plain.to_owned()
                } else if buffer == encoder && buffer == TextId::EMPTY {
                    UNLABELLED.to_owned()
                } else {
                    format!("{}:{}", view.text(buffer).trim(), view.text(encoder).trim())
                });
                labels.names.len() as u32 - 1
            });
        labels.ids.push(id);
    }
    labels
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
pub(crate) fn table(view: &View<'_>, labels: &Labels, key: impl Fn(&str) -> String) -> Vec<Label> {
    let mut keys: BTreeMap<String, u32> = BTreeMap::new();
    let mut places: Vec<u32> = Vec::with_capacity(labels.names.len());
    for name in &labels.names {
        let next = keys.len() as u32;
        places.push(*keys.entry(key(name)).or_insert(next));
    }
    let mut durations: Vec<Vec<u64>> = vec![Vec::new(); keys.len()];
    for (interval, &id) in view.target.iter().zip(&labels.ids) {
        let place = places.get(id as usize).map_or(0, |&place| place as usize);
        if let Some(group) = durations.get_mut(place) {
            group.push(interval.span.duration());
        }
    }
    let group = |(name, place): (String, u32)| {
        let group = durations.get_mut(place as usize).map(std::mem::take);
        (name, group.unwrap_or_default())
    };
    ranked(keys.into_iter().map(group).collect())
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
    let mut channels: BTreeMap<&str, (u64, RunningUnion)> = BTreeMap::new();
    for interval in &view.target {
        if let Some(span) = interval.span.clip(view.window) {
            let channel = channels.entry(view.text(interval.channel)).or_default();
            channel.0 += 1;
            channel.1.add(span);
        }
    }
    let channel = |(channel, (count, busy)): (&str, (u64, RunningUnion))| Channel {
        channel: channel.to_owned(),
        count,
        busy_ms: ms(busy.total()),
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

//! The flow of command buffers: latency, completion, synchronisation, queue depth.

use super::document::{Completion, Latency, Queue, Synchronisation};
use super::gaps::Gap;
use super::stats::{Summary, fraction, ms, rounded, us};
use super::view::{Buffer, View};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) fn latency(view: &View<'_>) -> Latency {
    let known = view
        .target
        .iter()
        .filter_map(|interval| interval.latency.get());
    let summary = Summary::new(known.collect());
    Latency {
        count: summary.count(),
        mean_us: summary.mean().map(us),
        median_us: summary.median().map(us),
        p99_us: summary.percentile(0.99).map(us),
        max_us: summary.max().map(us),
    }
}

pub(crate) fn completion(view: &View<'_>) -> Completion {
    let delays = view.buffers.iter().filter_map(|buffer| {
        let completed = buffer.completed.get()?;
        Some(completed.saturating_sub(buffer.gpu.end))
    });
    let summary = Summary::new(delays.collect());
    Completion {
        joined: summary.count(),
        missing: (view.buffers.len() as u64).saturating_sub(summary.count()),
        gpu_end_to_completed_mean_us: summary.mean().map(us),
        gpu_end_to_completed_median_us: summary.median().map(us),
    }
}

/// Looks at each command buffer and the next one committed by the same thread.
pub(crate) fn synchronisation(view: &View<'_>, gaps: &[Gap<'_>]) -> Synchronisation {
    let mut last: FxHashMap<Option<u64>, &Buffer> = FxHashMap::default();
    let mut order: Vec<&Buffer> = view
        .buffers
        .iter()
        .filter(|b| b.commit.get().is_some())
        .collect();
    order.sort_by_key(|buffer| (buffer.commit.get(), buffer.id));
    let (mut pairs, mut strong, mut weak) = (0, 0, 0);
    let mut strong_successors: FxHashSet<u64> = FxHashSet::default();
    for buffer in order {
        let commit = buffer.commit.get().unwrap_or(0);
        if let Some(before) = last.insert(buffer.thread.get(), buffer) {
            pairs += 1;
            if before
                .completed
                .get()
                .is_some_and(|completed| commit >= completed)
            {
                strong += 1;
                strong_successors.insert(buffer.id);
            } else if commit >= before.gpu.end {
                weak += 1;
            }
        }
    }
    let strong_gaps = gaps
        .iter()
        .filter(|gap| strong_successors.contains(&gap.after.command_buffer))
        .map(|gap| gap.duration());
    Synchronisation {
        pairs,
        strong,
        weak,
        strong_gap_ms: ms(strong_gaps.sum()),
    }
}

/// Slices of the depth series.
const SLICES: usize = 60;

/// Depth over time: up at each commit, down at each end on the GPU.
pub(crate) fn queue(view: &View<'_>) -> Queue {
    let unknown = Queue {
        mean_depth: None,
        max_depth: None,
        empty: None,
        series: Vec::new(),
    };
    let mut changes: Vec<(u64, i64)> = Vec::with_capacity(view.buffers.len() * 2);
    for buffer in &view.buffers {
        let Some(commit) = buffer.commit.get() else {
            return unknown;
        };
        let end = buffer.gpu.end.max(commit);
        changes.push((commit, 1));
        changes.push((end, -1));
    }
    let window = view.window;
    if changes.is_empty() || window.duration() == 0 {
        return unknown;
    }
    // An end and a commit at the same moment: the end comes first.
    changes.sort_unstable();
    let mut slices = vec![0.0; SLICES];
    let slice_length = window.duration() as f64 / SLICES as f64;
    let (mut depth, mut deepest) = (0i64, 0i64);
    let (mut area, mut empty) = (0f64, 0u64);
    let mut from = window.start;
    let ends = changes.iter().copied().chain([(window.end, 0)]);
    for (time, change) in ends {
        let until = time.clamp(window.start, window.end);
        if until > from {
            let length = until - from;
            area += depth as f64 * length as f64;
            if depth == 0 {
                empty += length;
            } else {
                spread(
                    &mut slices,
                    depth,
                    from - window.start,
                    until - window.start,
                    slice_length,
                );
            }
            deepest = deepest.max(depth);
            from = until;
        }
        depth += change;
    }
    let length = window.duration() as f64;
    Queue {
        mean_depth: Some(rounded(area / length)),
        max_depth: Some(deepest.max(0) as u64),
        empty: Some(fraction(empty as f64, length)),
        series: slices
            .iter()
            .map(|area| rounded(area / slice_length))
            .collect(),
    }
}

/// Adds `depth` to every slice between two offsets.
fn spread(slices: &mut [f64], depth: i64, from: u64, until: u64, slice_length: f64) {
    let (from, until) = (from as f64, until as f64);
    let first = (from / slice_length) as usize;
    let last = (until / slice_length) as usize;
    for index in first..=last {
        let Some(slice) = slices.get_mut(index) else {
            return;
        };
        let start = index as f64 * slice_length;
        let overlap = until.min(start + slice_length) - from.max(start);
        *slice += depth as f64 * overlap.max(0.0);
    }
}

//! What else went on: other processes, counters, shaders, clocks.

use super::document::{CounterInfo, OtherProcess, ShaderInfo, StateShare};
use super::stats::{RunningUnion, fraction, ms, rounded, total, union, union_of};
use super::view::View;
use crate::events::{Named, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

pub(crate) fn other_processes(view: &View<'_>) -> Vec<OtherProcess> {
    let mut groups: BTreeMap<Option<u32>, Vec<Span>> = BTreeMap::new();
    for interval in &view.recording.events.gpu {
        if interval.active
            && !view.is_target(interval.pid)
            && let Some(span) = interval.span.clip(view.window)
        {
            groups.entry(interval.pid).or_default().push(span);
        }
    }
    let process = |(pid, spans): (Option<u32>, Vec<Span>)| OtherProcess {
        name: pid
            .and_then(|pid| view.recording.process_name(pid))
            .unwrap_or("(no process)")
            .to_owned(),
        pid,
        count: spans.len() as u64,
        busy_ms: ms(total(&union(spans))),
    };
    let mut rows: Vec<OtherProcess> = groups.into_iter().map(process).collect();
    rows.sort_by(|a, b| b.busy_ms.total_cmp(&a.busy_ms).then(a.pid.cmp(&b.pid)));
    rows
}

pub(crate) fn counters(view: &View<'_>) -> Vec<CounterInfo> {
    let (first, last) = (view.window.start / 1_000_000, view.window.end / 1_000_000);
    let mut rows: Vec<CounterInfo> = view
        .recording
        .events
        .counters
        .iter()
        .filter(|(_, counter)| counter.rows > 0)
        .map(|(id, counter)| {
            let mut buckets: Vec<_> = counter
                .buckets
                .iter()
                .filter(|&(&bucket, _)| bucket >= first && bucket <= last)
                .collect();
            // Sums of fractions depend on their order.
            buckets.sort_unstable_by_key(|&(&bucket, _)| bucket);
            let (sum, weight) = buckets
                .iter()
                .fold((0.0, 0.0), |(s, w), &(_, &(sum, weight))| {
                    (s + sum, w + weight)
                });
            let name = view.text(counter.name);
            CounterInfo {
                name: if name.is_empty() {
                    format!("counter {id}")
                } else {
                    name.to_owned()
                },
                mean: (weight > 0.0).then(|| rounded(sum / weight)),
                max: Some(rounded(counter.max)),
                rows: counter.rows,
            }
        })
        .collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    rows
}

pub(crate) fn shaders(view: &View<'_>) -> Vec<ShaderInfo> {
    let mut groups: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for sample in &view.recording.events.shaders {
        let ours = view.is_target(sample.pid) || sample.pid.is_none();
        if ours && sample.span.clip(view.window).is_some() {
            let group = groups.entry(view.text(sample.name)).or_default();
            group.0 += 1;
            group.1 = group.1.saturating_add(sample.span.duration());
        }
    }
    let whole: u64 = groups.values().map(|group| group.1).sum();
    let row = |(name, (samples, time)): (&str, (u64, u64))| ShaderInfo {
        name: name.to_owned(),
        samples,
        share: fraction(time as f64, whole as f64),
    };
    let mut rows: Vec<ShaderInfo> = groups.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.name.cmp(&b.name)));
    rows
}

/// Share of the window in each state.
pub(crate) fn states(view: &View<'_>, states: &[Named]) -> Vec<StateShare> {
    let mut times: FxHashMap<&str, u64> = FxHashMap::default();
    for state in states {
        if let Some(span) = state.span.clip(view.window) {
            *times.entry(view.text(state.kind)).or_default() += span.duration();
        }
    }
    let whole = view.window.duration() as f64;
    let mut rows: Vec<StateShare> = times
        .into_iter()
        .map(|(state, time)| StateShare {
            state: state.to_owned(),
            share: fraction(time as f64, whole),
        })
        .collect();
    rows.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.state.cmp(&b.state)));
    rows
}

/// Time the GPU was busy for anybody, and where that comes from.
pub(crate) fn machine_busy(view: &View<'_>) -> (u64, &'static str) {
    let events = &view.recording.events;
    let everywhere = Span {
        start: 0,
        end: u64::MAX,
    };
    let window = if view.window_given {
        view.window
    } else {
        everywhere
    };
    let active = events
        .gpu_states
        .iter()
        .filter(|state| view.text(state.kind) == "Active");
    if !events.gpu_states.is_empty() {
        let spans = active.filter_map(|state| state.span.clip(window)).collect();
        return (total(&union_of(spans)), "gpu states");
    }
    let rows = events.gpu.iter().filter(|interval| interval.active);
    let spans = rows.filter_map(|interval| interval.span.clip(window));
    (RunningUnion::of(spans), "union of all rows")
}

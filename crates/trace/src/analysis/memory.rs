//! Memory over the run: the level Metal reports, resources that were not freed, who
//! allocates, and what the Allocations and Leaks instruments found.

use super::document::{Allocator, HeapCaller, HeapCategory, LeakInfo, Memory, UnfreedGroup};
use super::stats::ms;
use super::view::View;
use crate::events::{Allocation, Level};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Slices of the level series.
const SLICES: usize = 48;
/// Rows listed of a kind.
const TOP: usize = 12;
/// The level must rise by this part of the peak from quarter to quarter to count as growth.
const RISE: f64 = 0.01;

pub(crate) fn report(view: &View<'_>) -> Memory {
    let levels = levels(view);
    let series = series(view, &levels);
    let peak = levels
        .iter()
        .max_by_key(|level| (level.bytes, std::cmp::Reverse(level.span.start)));
    let unfreed = unfreed(view);
    let known = unfreed.as_ref();
    Memory {
        first_bytes: levels.first().map(|level| level.bytes),
        last_bytes: levels.last().map(|level| level.bytes),
        peak_bytes: peak.map(|level| level.bytes),
        peak_at_ms: peak.map(|level| ms(level.span.start.max(view.window.start))),
        growth_bytes_per_s: slope(view, &series),
        growing: growing(&levels, view),
        levels: series.iter().map(|&level| level.round()).collect(),
        unfreed: known.map(|list| list.len() as u64),
        unfreed_bytes: known.and_then(|list| {
            list.iter()
                .map(|event| event.bytes.get())
                .sum::<Option<u64>>()
        }),
        unfreed_groups: known.map_or_else(Vec::new, |list| groups(view, list)),
        allocators: allocators(view),
        heap: heap(view),
        heap_callers: heap_callers(view),
        leaks: leaks(view),
    }
}

/// The target's levels in the window, by time.
fn levels(view: &View<'_>) -> Vec<Level> {
    let mut levels: Vec<Level> = view
        .recording
        .events
        .allocated
        .iter()
        .filter(|level| view.is_target(level.pid))
        .filter(|level| level.span.start < view.window.end && level.span.end >= view.window.start)
        .copied()
        .collect();
    levels.sort_by_key(|level| level.span);
    levels
}

/// The level at the middle of each slice of the window; empty when it is unknown.
fn series(view: &View<'_>, levels: &[Level]) -> Vec<f64> {
    if levels.is_empty() || view.window.duration() == 0 {
        return Vec::new();
    }
    let length = view.window.duration() as f64;
    let at = |slice: usize| {
        let offset = (slice as f64 + 0.5) / SLICES as f64 * length;
        let time = view.window.start + offset as u64;
        // The last level that began before; the first one before any did.
        let index = levels.partition_point(|level| level.span.start <= time);
        let level = levels.get(index.saturating_sub(1));
        level.map_or(0.0, |level| level.bytes as f64)
    };
    (0..SLICES).map(at).collect()
}

/// Bytes per second by least squares, after the first quarter.
fn slope(view: &View<'_>, series: &[f64]) -> Option<f64> {
    let late = series
        .get(series.len() / 4..)
        .filter(|late| late.len() > 2)?;
    let count = late.len() as f64;
    let mean_x = (count - 1.0) / 2.0;
    let mean_y = late.iter().sum::<f64>() / count;
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in late.iter().enumerate() {
        let x = x as f64 - mean_x;
        above += x * (y - mean_y);
        below += x * x;
    }
    let seconds = view.window.duration() as f64 / 1e9 / SLICES as f64;
    Some((above / below / seconds).round())
}

/// Returns true if the lowest level rises through the second, third and fourth quarter.
fn growing(levels: &[Level], view: &View<'_>) -> Option<bool> {
    if levels.len() < 8 {
        return None;
    }
    let length = view.window.duration();
    let quarter = |level: &Level| {
        let offset = level.span.start.saturating_sub(view.window.start);
        (offset.saturating_mul(4) / length.max(1)).min(3) as usize
    };
    let mut lowest: [Option<u64>; 4] = [None; 4];
    for level in levels {
        if let Some(place) = lowest.get_mut(quarter(level)) {
            *place = Some(place.map_or(level.bytes, |before| before.min(level.bytes)));
        }
    }
    let [_, Some(second), Some(third), Some(fourth)] = lowest else {
        return Some(false);
    };
    let rise = levels.iter().map(|level| level.bytes).max().unwrap_or(0) as f64 * RISE;
    let rises = |from: u64, to: u64| to as f64 - from as f64 > rise;
    Some(rises(second, third) && rises(third, fourth))
}

/// The target's allocations of the window without an end; `None` when they were not recorded.
fn unfreed<'a>(view: &View<'a>) -> Option<Vec<&'a Allocation>> {
    if !view.recording.has_table("metal-resource-allocations") {
        return None;
    }
    let events = &view.recording.events.allocations;
    let target = events.iter().filter(|event| view.is_target(event.pid));
    let (freed, allocated): (Vec<&Allocation>, Vec<&Allocation>) =
        target.partition(|event| view.text(event.kind).starts_with("Dealloc"));
    let mut freed_at: FxHashMap<u64, u64> = FxHashMap::default();
    for event in freed {
        if let Some(id) = event.id.get() {
            let last = freed_at.entry(id).or_default();
            *last = (*last).max(event.time);
        }
    }
    let lives = |event: &&Allocation| {
        let freed = event.id.get().and_then(|id| freed_at.get(&id));
        event.lifetime.get().is_none() && freed.is_none_or(|&freed| freed < event.time)
    };
    let inside =
        |event: &&Allocation| event.time >= view.window.start && event.time < view.window.end;
    Some(allocated.into_iter().filter(inside).filter(lives).collect())
}

fn groups(view: &View<'_>, unfreed: &[&Allocation]) -> Vec<UnfreedGroup> {
    let mut groups: BTreeMap<(&str, &str), UnfreedGroup> = BTreeMap::new();
    for event in unfreed {
        let (label, resource) = (view.text(event.label).trim(), view.text(event.resource));
        let group = groups
            .entry((label, resource))
            .or_insert_with(|| UnfreedGroup {
                label: label.to_owned(),
                resource: resource.to_owned(),
                count: 0,
                bytes: 0,
                caller: caller(view, event).map(|(function, _)| function.to_owned()),
            });
        group.count += 1;
        group.bytes = group.bytes.saturating_add(event.bytes.get().unwrap_or(0));
    }
    let mut rows: Vec<UnfreedGroup> = groups.into_values().collect();
    rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.label.cmp(&b.label)));
    rows.truncate(TOP);
    rows
}

/// Libraries that allocate on behalf of whoever called them.
const PASSED_ON: [&str; 8] = [
    "Metal",
    "AGXMetal",
    "IOGPU",
    "libobjc",
    "libsystem",
    "CoreFoundation",
    "Foundation",
    "MetalTools",
];

/// The innermost function of an allocation's stack that is not the system's.
fn caller<'a>(view: &View<'a>, event: &Allocation) -> Option<(&'a str, &'a str)> {
    let recording = view.recording;
    let stack = recording.stacks.get(event.stack.get()? as usize)?;
    let frames = stack.iter();
    let frames = frames.filter_map(|&frame| recording.frames.get(frame as usize));
    let named: Vec<(&str, &str)> = frames
        .map(|frame| (view.text(frame.function), view.text(frame.binary)))
        .collect();
    let own = |(_, binary): &&(&str, &str)| !PASSED_ON.iter().any(|name| binary.starts_with(name));
    named.iter().find(own).or_else(|| named.first()).copied()
}

fn allocators(view: &View<'_>) -> Vec<Allocator> {
    let mut rows: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    for event in &view.recording.events.allocations {
        let inside = event.time >= view.window.start && event.time < view.window.end;
        if !inside || !view.is_target(event.pid) || view.text(event.kind).starts_with("Dealloc") {
            continue;
        }
        if let Some(caller) = caller(view, event) {
            let row = rows.entry(caller).or_default();
            row.0 += 1;
            row.1 = row.1.saturating_add(event.bytes.get().unwrap_or(0));
        }
    }
    let row = |((function, binary), (count, bytes)): ((&str, &str), (u64, u64))| Allocator {
        function: function.to_owned(),
        binary: binary.to_owned(),
        count,
        bytes,
    };
    let mut rows: Vec<Allocator> = rows.into_iter().map(row).collect();
    rows.sort_by(|a, b| {
        b.bytes
            .cmp(&a.bytes)
            .then_with(|| a.function.cmp(&b.function))
    });
    rows.truncate(TOP);
    rows
}

fn heap(view: &View<'_>) -> Vec<HeapCategory> {
    let mut rows: Vec<HeapCategory> = view.recording.events.heap.clone();
    rows.sort_by(|a, b| {
        let by_size = b.total_bytes.cmp(&a.total_bytes);
        by_size.then_with(|| a.category.cmp(&b.category))
    });
    rows.truncate(TOP);
    rows
}

fn heap_callers(view: &View<'_>) -> Vec<HeapCaller> {
    let rows = view.recording.events.heap_callers.iter();
    let row = |((caller, library), &(count, bytes)): (&(String, String), &(u64, u64))| HeapCaller {
        caller: caller.clone(),
        library: library.clone(),
        count,
        bytes,
    };
    let mut rows: Vec<HeapCaller> = rows.map(row).collect();
    rows.sort_by(|a, b| {
        let by_size = b.bytes.cmp(&a.bytes);
        by_size.then_with(|| (&a.caller, &a.library).cmp(&(&b.caller, &b.library)))
    });
    rows.truncate(TOP);
    rows
}

fn leaks(view: &View<'_>) -> Option<Vec<LeakInfo>> {
    view.recording.has_table("Leaks").then_some(())?;
    let mut rows: BTreeMap<(&str, &str, &str), (u64, u64)> = BTreeMap::new();
    for leak in &view.recording.events.leaks {
        let row = rows
            .entry((&leak.object, &leak.frame, &leak.library))
            .or_default();
        row.0 = row.0.saturating_add(leak.count);
        row.1 = row.1.saturating_add(leak.bytes);
    }
    let mut rows: Vec<LeakInfo> = rows
        .into_iter()
        .map(|((object, frame, library), (count, bytes))| LeakInfo {
            object: object.to_owned(),
            frame: frame.to_owned(),
            library: library.to_owned(),
            count,
            bytes,
        })
        .collect();
    rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.object.cmp(&b.object)));
    Some(rows)
}

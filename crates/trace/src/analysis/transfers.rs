//! Copies and memory work of the driver: time, bytes, and bandwidth against the chip's.

use super::document::{ChipInfo, Transfers};
use super::labels::{Labels, is_blit};
use super::stats::{fraction, ms, rounded, total, union_of};
use super::view::View;
use crate::events::{GpuInterval, Named, Span};
use crate::work::Work;

/// What blits copied, as far as it is known.
#[derive(Default)]
struct Copied {
    count: u64,
    time: u64,
    /// Bytes of blits whose size is known, and their time.
    known: Option<(u64, u64)>,
    /// Blits whose size is not known.
    unknown: u64,
    from: Option<&'static str>,
}

impl Copied {
    fn add(&mut self, interval: &GpuInterval, bytes: Option<(u64, &'static str)>) {
        let time = interval.span.duration();
        self.count += 1;
        self.time += time;
        match bytes {
            Some((bytes, from)) => {
                let (sum, known_time) = self.known.unwrap_or((0, 0));
                self.known = Some((sum.saturating_add(bytes), known_time + time));
                self.from = Some(from);
            }
            None => self.unknown += 1,
        }
    }
}

pub(crate) fn report(
    view: &View<'_>,
    labels: &Labels,
    work: &[Work],
    chip: Option<&ChipInfo>,
) -> Transfers {
    let events = &view.recording.events;
    let whole: u64 = view.target.iter().map(|i| i.span.duration()).sum();
    let blits = copied(view, labels, work);
    // Bandwidth over the blits whose size is known; their sum only when all are.
    let gbs = blits
        .known
        .and_then(|(bytes, time)| per_second(bytes, time));
    let bandwidth = chip.and_then(|chip| chip.bandwidth_gbs);
    let wirings = wirings(view);
    let has_wirings = view.recording.has_table("metal-driver-event-intervals");
    let wiring = total(&union_of(wirings.iter().map(|named| named.span).collect()));
    let wired = wirings
        .iter()
        .map(|named| named.bytes.get())
        .sum::<Option<u64>>()
        .filter(|_| has_wirings);
    let (allocations, deallocations, allocated) = allocations(view);
    let has_allocations = view.recording.has_table("metal-resource-allocations");
    let levels = events.allocated.iter();
    let peak = levels.filter(|level| view.is_target(level.pid));
    Transfers {
        blits: blits.count,
        blit_ms: ms(blits.time),
        blit_share: fraction(blits.time as f64, whole as f64),
        blit_bytes: blits
            .known
            .filter(|_| blits.unknown == 0)
            .map(|(bytes, _)| bytes),
        blit_bytes_from: blits.from.map(str::to_owned),
        blit_gbs: gbs,
        blit_of_bandwidth: gbs
            .zip(bandwidth)
            .map(|(gbs, bandwidth)| rounded(2.0 * gbs / bandwidth)),
        wirings: has_wirings.then_some(wirings.len() as u64),
        wiring_ms: has_wirings.then(|| ms(wiring)),
        wired_bytes: wired,
        wiring_gbs: wired.and_then(|bytes| per_second(bytes, wiring)),
        allocations: has_allocations.then_some(allocations),
        allocated_bytes: allocated.filter(|_| has_allocations),
        deallocations: has_allocations.then_some(deallocations),
        peak_allocated_bytes: peak.map(|level| level.bytes).max(),
    }
}

/// Bytes in a time as gigabytes per second.
fn per_second(bytes: u64, nanoseconds: u64) -> Option<f64> {
    (bytes > 0 && nanoseconds > 0).then(|| rounded(bytes as f64 / nanoseconds as f64))
}

/// Copies, with their bytes by the recording, else by a work file.
fn copied(view: &View<'_>, labels: &Labels, work: &[Work]) -> Copied {
    let given: Vec<Option<u64>> = labels
        .names
        .iter()
        .map(|label| {
            let item = work.iter().find(|item| item.matches(label))?;
            item.bytes.map(|bytes| bytes as u64)
        })
        .collect();
    let is_copy: Vec<bool> = labels.names.iter().map(|label| is_blit(label)).collect();
    let mut out = Copied::default();
    for (interval, &id) in view.target.iter().zip(&labels.ids) {
        let id = id as usize;
        if !is_copy.get(id).copied().unwrap_or(false) {
            continue;
        }
        let recorded = view.recording.events.gpu_bytes.get(&interval.encoder);
        let recorded = recorded.map(|&bytes| (bytes, "recording"));
        let given = given.get(id).copied().flatten();
        out.add(
            interval,
            recorded.or_else(|| given.map(|bytes| (bytes, "work file"))),
        );
    }
    out
}

/// Memory the driver wired for the target in the window.
fn wirings<'a>(view: &View<'a>) -> Vec<&'a Named> {
    let inside = |span: Span| span.clip(view.window).is_some();
    let events = view.recording.events.driver_memory.iter();
    events
        .filter(|named| view.is_target(named.pid) && inside(named.span))
        .filter(|named| {
            view.text(named.kind).contains("Wire") || view.text(named.label).contains("Wire")
        })
        .collect()
}

/// Resources allocated and freed in the window, and the bytes of those allocated.
fn allocations(view: &View<'_>) -> (u64, u64, Option<u64>) {
    let in_window = |time: u64| time >= view.window.start && time < view.window.end;
    let (mut allocations, mut deallocations, mut allocated) = (0u64, 0u64, Some(0u64));
    for event in &view.recording.events.allocations {
        if !view.is_target(event.pid) || !in_window(event.time) {
            continue;
        }
        if view.text(event.kind).starts_with("Dealloc") {
            deallocations += 1;
        } else {
            allocations += 1;
            allocated = allocated
                .zip(event.bytes.get())
                .map(|(a, b)| a.saturating_add(b));
        }
    }
    (allocations, deallocations, allocated)
}

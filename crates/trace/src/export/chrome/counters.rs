//! Tracks of values: utilisation, command buffers in flight, clock, memory, counters.

use super::{GPU_GROUP, MACHINE_GROUP, Writer};
use crate::analysis::view::View;
use crate::render::strip::density;
use serde_json::json;
use std::io::Write;

/// Slices utilisation is averaged over: a millisecond each, or longer in long recordings.
const MOST_SLICES: u64 = 2000;

pub(super) fn tracks(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    writer.name("process_name", MACHINE_GROUP, 0, "GPU · whole machine")?;
    writer.order("process_sort_index", MACHINE_GROUP, 0, 5)?;
    utilisation(view, writer)?;
    in_flight(view, writer)?;
    clock(view, writer)?;
    memory(view, writer)?;
    hardware(view, writer)
}

fn group(view: &View<'_>) -> u64 {
    GPU_GROUP + view.pids.first().copied().map_or(0, u64::from)
}

fn utilisation(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let window = view.window;
    let slices = (window.duration() / 1_000_000).clamp(1, MOST_SLICES);
    let shares = |spans: &[crate::Span]| density(spans, window, slices as usize);
    let (target, others) = (shares(&view.busy()), shares(&view.others));
    let percent = |share: f64| (share.min(1.0) * 1e4).round() / 100.0;
    for (slice, (own, other)) in target.iter().zip(&others).enumerate() {
        let time = window.start + window.duration() * slice as u64 / slices;
        let values = json!({ "target": percent(*own), "other processes": percent(*other) });
        writer.value(group(view), "utilisation (%)", time, values)?;
    }
    let none = json!({ "target": 0.0, "other processes": 0.0 });
    writer.value(group(view), "utilisation (%)", window.end, none)
}

/// Command buffers committed and not finished.
fn in_flight(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let mut changes: Vec<(u64, i64)> = Vec::with_capacity(view.buffers.len() * 2);
    for buffer in &view.buffers {
        if let Some(commit) = buffer.commit.get() {
            changes.push((commit, 1));
            changes.push((buffer.gpu.end.max(commit), -1));
        }
    }
    changes.sort_unstable();
    let mut depth = 0i64;
    for (time, change) in changes {
        depth += change;
        let value = json!({ "command buffers": depth });
        writer.value(group(view), "command buffers in flight", time, value)?;
    }
    Ok(())
}

/// The clock's state. Recordings hold its step, not its frequency.
fn clock(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    for state in &view.recording.events.clock_states {
        let step = match view.text(state.kind) {
            "Minimum" => 1,
            "Medium" => 2,
            "Maximum" => 3,
            _ => continue,
        };
        let name = "clock (1 minimum, 2 medium, 3 maximum)";
        writer.value(
            MACHINE_GROUP,
            name,
            state.span.start,
            json!({ "step": step }),
        )?;
    }
    Ok(())
}

fn memory(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let events = &view.recording.events;
    for level in &events.allocated {
        if view.is_target(level.pid) {
            let group = GPU_GROUP + level.pid.map_or(0, u64::from);
            let value = json!({ "bytes": level.bytes });
            writer.value(group, "allocated size", level.span.start, value)?;
        }
    }
    for level in &events.wired {
        let value = json!({ "bytes": level.bytes });
        let name = "wired system memory";
        writer.value(MACHINE_GROUP, name, level.span.start, value)?;
    }
    Ok(())
}

/// Hardware counters, averaged per millisecond.
fn hardware(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let mut ids: Vec<_> = view.recording.events.counters.iter().collect();
    ids.sort_unstable_by_key(|&(&id, _)| id);
    for (id, counter) in ids {
        let text = view.text(counter.name);
        let name = if text.is_empty() {
            format!("counter {id}")
        } else {
            text.to_owned()
        };
        let mut buckets: Vec<_> = counter.buckets.iter().collect();
        buckets.sort_unstable_by_key(|&(&time, _)| time);
        for (&time, &(sum, weight)) in buckets {
            if weight > 0.0 {
                let time = time.saturating_mul(1_000_000);
                let value = json!({ "value": sum / weight });
                writer.value(MACHINE_GROUP, &name, time, value)?;
            }
        }
    }
    Ok(())
}

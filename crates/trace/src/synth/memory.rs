//! Tables of memory and clock of a made-up run.

use super::scenario::Trace;
use super::tables::{NAME, PID, TID};
use super::xml::TableWriter;
use std::io::{self, Write};

const ALLOCATION_COLUMNS: [(&str, &str); 11] = [
    ("timestamp", "start-time"),
    ("duration", "duration"),
    ("process", "process"),
    ("thread", "thread"),
    ("resource-id", "gpu-hardware-trace"),
    ("label", "metal-object-label"),
    ("resource-size", "size-in-bytes"),
    ("gpu", "metal-device-name"),
    ("resource-type", "metal-object-label"),
    ("event-type", "gpu-memory-event-name"),
    ("backtrace", "backtrace"),
];

pub(super) fn allocations(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = TableWriter::new(out, "metal-resource-allocations", &ALLOCATION_COLUMNS)?;
    for (index, &(time, bytes, freed)) in trace.allocations.iter().enumerate() {
        writer.begin_row()?;
        writer.number("start-time", time)?;
        match freed {
            Some(freed) => writer.number("duration", freed - time)?,
            None => writer.sentinel()?,
        }
        writer.process(NAME, PID)?;
        writer.thread("Main Thread", TID, NAME, PID)?;
        writer.number("gpu-hardware-trace", 0x1000 + index as u64)?;
        writer.shared("metal-object-label", "kv page")?;
        writer.shared("size-in-bytes", &bytes.to_string())?;
        writer.shared("metal-device-name", "M1")?;
        writer.shared("metal-object-label", "MTLBuffer")?;
        writer.shared("gpu-memory-event-name", "Allocation")?;
        writer.backtrace(&["grow_cache", "decode", "main"])?;
        writer.end_row()?;
    }
    writer.finish().map(|_| ())
}

/// What is allocated before the first step.
const WEIGHTS: u64 = 256 << 20;

pub(super) fn allocated_size(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("start", "start-time"),
        ("duration", "duration"),
        ("process", "process"),
        ("current-allocated-size", "size-in-bytes"),
    ];
    let mut changes: Vec<(u64, i64)> = Vec::new();
    for &(time, bytes, freed) in &trace.allocations {
        changes.push((time, bytes as i64));
        changes.extend(freed.map(|freed| (freed, -(bytes as i64))));
    }
    changes.sort_unstable();
    let mut writer = TableWriter::new(out, "metal-current-allocated-size", &columns)?;
    let mut level = WEIGHTS as i64;
    for (index, &(time, change)) in changes.iter().enumerate() {
        level += change;
        let until = changes.get(index + 1).map_or(time + 1_000, |next| next.0);
        writer.begin_row()?;
        writer.number("start-time", time)?;
        writer.number("duration", until - time)?;
        writer.process(NAME, PID)?;
        writer.number("size-in-bytes", level.max(0) as u64)?;
        writer.end_row()?;
    }
    writer.finish().map(|_| ())
}

pub(super) fn clock_states(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let columns = [
        ("start", "start-time"),
        ("duration", "duration"),
        ("gpu-performance-state", "gpu-performance-state"),
    ];
    let first = trace.all().first().map_or(0, |e| e.span.start);
    let last = trace.all().iter().map(|e| e.span.end).max().unwrap_or(0);
    let mut writer = TableWriter::new(out, "gpu-performance-state-intervals", &columns)?;
    let ramp = [
        (0, first, "Minimum"),
        (first, first + 1_000_000, "Medium"),
        (first + 1_000_000, last, "Maximum"),
    ];
    for (start, end, state) in ramp {
        if end > start {
            writer.begin_row()?;
            writer.number("start-time", start)?;
            writer.number("duration", end - start)?;
            writer.shared("gpu-performance-state", state)?;
            writer.end_row()?;
        }
    }
    writer.finish().map(|_| ())
}

//! Chrome trace JSON, which Perfetto and the Firefox profiler open.
//!
//! Every process that used the GPU becomes a group of lanes, one per GPU channel; the
//! target also shows its gaps by cause, its threads with encoding and commits, its
//! debug groups and signposts. Complete events on one lane must nest, so executions
//! that overlap are put on lanes of their own.

use crate::analysis::gaps::{self, Cause};
use crate::analysis::view::View;
use crate::analysis::{Options, labels};
use crate::error::Error;
use crate::events::{Named, Span};
use crate::recording::Recording;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;

/// Process ids of GPU groups: apart from those of the host's processes.
const GPU_GROUP: u64 = 1 << 30;
const GAP_LANE: u64 = 1;
const FIRST_LANE: u64 = 2;

#[derive(Serialize)]
struct Event<'a> {
    ph: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    pid: u64,
    tid: u64,
    /// Microseconds.
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cname: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

struct Writer<W> {
    out: W,
    first: bool,
}

impl<W: Write> Writer<W> {
    fn event(&mut self, event: &Event<'_>) -> std::io::Result<()> {
        self.out
            .write_all(if self.first { b"\n" } else { b",\n" })?;
        self.first = false;
        serde_json::to_writer(&mut self.out, event)?;
        Ok(())
    }

    fn name(&mut self, what: &str, pid: u64, tid: u64, name: &str) -> std::io::Result<()> {
        self.event(&Event {
            ph: "M",
            name: what,
            cat: "",
            pid,
            tid,
            ts: 0.0,
            dur: None,
            cname: None,
            args: object(json!({ "name": name })),
        })
    }

    fn order(&mut self, what: &str, pid: u64, tid: u64, order: i64) -> std::io::Result<()> {
        self.event(&Event {
            ph: "M",
            name: what,
            cat: "",
            pid,
            tid,
            ts: 0.0,
            dur: None,
            cname: None,
            args: object(json!({ "sort_index": order })),
        })
    }

    fn complete(
        &mut self,
        (pid, tid): (u64, u64),
        span: Span,
        (cat, name): (&str, &str),
        cname: Option<&str>,
        args: Value,
    ) -> std::io::Result<()> {
        self.event(&Event {
            ph: "X",
            name,
            cat,
            pid,
            tid,
            ts: micros(span.start),
            dur: Some(micros(span.duration())),
            cname,
            args: object(args),
        })
    }
}

fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Writes a recording as Chrome trace JSON.
pub fn write_chrome(
    recording: &Recording,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let view = View::new(recording, options)?;
    write(&view, out).map_err(|error| Error::write(&error))
}

fn write(view: &View<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let target = view.pids.first().copied();
    let about = json!({
        "producer": "assay",
        "target": target.and_then(|pid| view.recording.process_name(pid)),
        "pid": target,
        "time": "microseconds since the start of the recording",
    });
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":["
    )?;
    let mut writer = Writer { out, first: true };
    gpu(view, &mut writer)?;
    gap_lane(view, &mut writer)?;
    host(view, &mut writer)?;
    counters(view, &mut writer)?;
    writer.out.write_all(b"\n]}\n")
}

/// Puts spans sorted by start on as few lanes as keep them from overlapping.
#[derive(Default)]
struct Lanes {
    ends: Vec<u64>,
}

/// Lanes per channel; beyond that, overlapping work shares the last one.
const MOST_LANES: usize = 16;

impl Lanes {
    fn place(&mut self, span: Span) -> usize {
        let free = self.ends.iter().position(|&end| end <= span.start);
        let lane = free.unwrap_or_else(|| {
            if self.ends.len() < MOST_LANES {
                self.ends.push(0);
            }
            self.ends.len() - 1
        });
        if let Some(end) = self.ends.get_mut(lane) {
            *end = span.end;
        }
        lane
    }
}

fn gpu(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let mut lanes: BTreeMap<(u64, &str), (u64, Lanes)> = BTreeMap::new();
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let mut named: BTreeMap<(u64, u64), ()> = BTreeMap::new();
    for interval in &view.recording.events.gpu {
        let process = interval.pid.map_or(0, u64::from);
        let group = GPU_GROUP + process;
        if let Entry::Vacant(place) = next.entry(group) {
            place.insert(FIRST_LANE);
            let name = interval
                .pid
                .and_then(|pid| view.recording.process_name(pid))
                .unwrap_or("(no process)");
            writer.name(
                "process_name",
                group,
                0,
                &format!("GPU · {name} ({process})"),
            )?;
            let order = if view.is_target(interval.pid) { -2 } else { 10 };
            writer.order("process_sort_index", group, 0, order)?;
        }
        let channel = view.text(interval.channel);
        // Room for every lane of the channel is set aside when it first appears.
        let (base, places) = lanes.entry((group, channel)).or_insert_with(|| {
            let base = next.get(&group).copied().unwrap_or(FIRST_LANE);
            next.insert(group, base + MOST_LANES as u64);
            (base, Lanes::default())
        });
        let lane = places.place(interval.span);
        let tid = *base + lane as u64;
        if named.insert((group, tid), ()).is_none() {
            let name = match lane {
                0 => channel.to_owned(),
                lane => format!("{channel} ({})", lane + 1),
            };
            writer.name("thread_name", group, tid, &name)?;
        }
        let label = view.text(interval.label).trim();
        let label = if label.is_empty() {
            labels::UNLABELLED
        } else {
            label
        };
        writer.complete(
            (group, tid),
            interval.span,
            ("gpu", label),
            None,
            json!({
                "command buffer": format!("{:#x}", interval.command_buffer),
                "encoder": format!("{:#x}", interval.encoder),
                "commit to start (µs)": interval.latency.get().map(micros),
            }),
        )?;
    }
    Ok(())
}

fn gap_lane(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let Some(&pid) = view.pids.first() else {
        return Ok(());
    };
    let group = GPU_GROUP + u64::from(pid);
    let gaps = gaps::find(view);
    if !gaps.is_empty() {
        writer.name("thread_name", group, GAP_LANE, "gaps")?;
    }
    for gap in &gaps {
        let colour = match gap.cause {
            Cause::HostLate => "terrible",
            Cause::Launch => "bad",
            Cause::Contended => "generic_work",
            Cause::Unknown => "grey",
        };
        writer.complete(
            (group, GAP_LANE),
            gap.span(),
            ("gap", gap.cause.word()),
            Some(colour),
            json!({
                "waiting for the host (µs)": gap.host_wait().map(micros),
                "others on the GPU (µs)": micros(gap.contended),
            }),
        )?;
    }
    Ok(())
}

/// When, of what category, and under what name.
type HostEvent<'a> = (Span, &'a str, String);

fn host(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let events = &view.recording.events;
    let mut rows: BTreeMap<(u64, u64), Vec<HostEvent<'_>>> = BTreeMap::new();
    let mut add = |pid: Option<u32>, thread: Option<u64>, span, cat, name: String| {
        if let (Some(pid), Some(thread)) = (pid, thread)
            && view.is_target(Some(pid))
        {
            let lane = rows.entry((u64::from(pid), thread)).or_default();
            lane.push((span, cat, name));
        }
    };
    for e in &events.encodings {
        add(
            e.pid,
            e.thread,
            e.span,
            "encode",
            format!("encode {}", view.text(e.label)),
        );
    }
    for s in &events.submissions {
        add(
            s.pid,
            s.thread,
            s.span,
            "submit",
            format!("command buffer {}", view.text(s.label)),
        );
    }
    let mut named = |list: &[Named], cat: &'static str| {
        for n in list {
            add(n.pid, n.thread, n.span, cat, view.text(n.label).to_owned());
        }
    };
    named(&events.application, "application");
    named(&events.signposts, "signpost");
    for ((pid, thread), mut lane) in rows {
        if let Some(name) = view.recording.process_name(pid as u32) {
            writer.name("process_name", pid, 0, &format!("{name} ({pid})"))?;
            writer.order("process_sort_index", pid, 0, -1)?;
        }
        let name = view
            .recording
            .threads
            .get(&thread)
            .map_or("", |t| view.text(t.name));
        // Longer events first, so that shorter ones nest inside them.
        lane.sort_by_key(|(span, ..)| (span.start, std::cmp::Reverse(span.end)));
        let mut lanes = Nesting::default();
        let mut depths: BTreeMap<usize, ()> = BTreeMap::new();
        for (span, cat, label) in &lane {
            let depth = lanes.place(*span);
            let tid = thread.saturating_mul(16).saturating_add(depth as u64);
            if depths.insert(depth, ()).is_none() {
                let title = match depth {
                    0 => format!("{name} {thread:#x}"),
                    depth => format!("{name} {thread:#x} ({})", depth + 1),
                };
                writer.name("thread_name", pid, tid, title.trim())?;
            }
            writer.complete((pid, tid), *span, (cat, label), None, Value::Null)?;
        }
    }
    Ok(())
}

/// Lanes on which events may nest but not cross.
#[derive(Default)]
struct Nesting {
    /// Ends of the open events of each lane, outermost first.
    lanes: Vec<Vec<u64>>,
}

impl Nesting {
    fn place(&mut self, span: Span) -> usize {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            while lane.last().is_some_and(|&end| end <= span.start) {
                lane.pop();
            }
            if lane.last().is_none_or(|&end| span.end <= end) {
                lane.push(span.end);
                return index;
            }
        }
        if self.lanes.len() >= MOST_LANES {
            return self.lanes.len() - 1;
        }
        self.lanes.push(vec![span.end]);
        self.lanes.len() - 1
    }
}

fn counters(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
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
                writer.event(&Event {
                    ph: "C",
                    name: &name,
                    cat: "counter",
                    pid: GPU_GROUP,
                    tid: 0,
                    ts: time as f64 * 1e3,
                    dur: None,
                    cname: None,
                    args: object(json!({ "value": sum / weight })),
                })?;
            }
        }
    }
    for level in &view.recording.events.allocated {
        if view.is_target(level.pid) {
            writer.event(&Event {
                ph: "C",
                name: "allocated size",
                cat: "memory",
                pid: GPU_GROUP + level.pid.map_or(0, u64::from),
                tid: 0,
                ts: micros(level.span.start),
                dur: None,
                cname: None,
                args: object(json!({ "bytes": level.bytes })),
            })?;
        }
    }
    Ok(())
}

//! Chrome trace JSON, which Perfetto and the Firefox profiler open.
//!
//! Every process that used the GPU becomes a group of lanes, one per GPU channel; the
//! target also shows its gaps by cause, its threads with encoding and commits, its
//! debug groups and signposts, and its single dispatches where their times are known. Arrows lead from the commit of a command buffer to its
//! execution. Utilisation, clock, memory and counters are tracks of values. Complete
//! events on one lane must nest, so executions that overlap are put on lanes of their own.

mod counters;
mod flow;
mod host;

use crate::analysis::gaps::{self, Cause};
use crate::analysis::view::View;
use crate::analysis::{Options, labels};
use crate::error::Error;
use crate::events::Span;
use crate::recording::Recording;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::Write;

/// Process ids of GPU groups: apart from those of the host's processes.
const GPU_GROUP: u64 = 1 << 30;
/// The group of what belongs to no process.
const MACHINE_GROUP: u64 = GPU_GROUP - 1;
const GAP_LANE: u64 = 1;
const FIRST_LANE: u64 = 2;
/// Above the lanes of all channels.
const DISPATCH_LANE: u64 = 1 << 20;

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
    /// What the ends of an arrow have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// `e`: an arrow ends in the event around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

impl<'a> Event<'a> {
    /// An event without a duration, colour or arrow.
    fn new(ph: &'a str, (cat, name): (&'a str, &'a str), (pid, tid): (u64, u64), ts: f64) -> Self {
        Event {
            ph,
            name,
            cat,
            pid,
            tid,
            ts,
            dur: None,
            cname: None,
            id: None,
            bp: None,
            args: Map::new(),
        }
    }
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
            args: object(json!({ "name": name })),
            ..Event::new("M", ("", what), (pid, tid), 0.0)
        })
    }

    fn order(&mut self, what: &str, pid: u64, tid: u64, order: i64) -> std::io::Result<()> {
        self.event(&Event {
            args: object(json!({ "sort_index": order })),
            ..Event::new("M", ("", what), (pid, tid), 0.0)
        })
    }

    fn complete(
        &mut self,
        lane: (u64, u64),
        span: Span,
        what: (&str, &str),
        cname: Option<&str>,
        args: Value,
    ) -> std::io::Result<()> {
        self.event(&Event {
            dur: Some(micros(span.duration())),
            cname,
            args: object(args),
            ..Event::new("X", what, lane, micros(span.start))
        })
    }

    /// A value at a moment.
    fn value(&mut self, group: u64, name: &str, time: u64, args: Value) -> std::io::Result<()> {
        self.event(&Event {
            args: object(args),
            ..Event::new("C", ("counter", name), (group, 0), micros(time))
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
        "times are": view.recording.time_source,
    });
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":["
    )?;
    let mut writer = Writer { out, first: true };
    let mut flows = flow::Flows::of(view);
    host::threads(view, &mut flows, &mut writer)?;
    flow::waiting(view, &mut flows, &mut writer)?;
    gpu(view, &mut flows, &mut writer)?;
    dispatches(view, &mut writer)?;
    gap_lane(view, &mut writer)?;
    counters::tracks(view, &mut writer)?;
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
    /// The first lane that is free, or a new one; `None` when there are too many.
    fn free(&mut self, span: Span) -> Option<usize> {
        let full = self.ends.len() >= MOST_LANES;
        let free = self.ends.iter().any(|&end| end <= span.start);
        (free || !full).then(|| self.place(span))
    }

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

fn gpu(
    view: &View<'_>,
    flows: &mut flow::Flows,
    writer: &mut Writer<&mut dyn Write>,
) -> std::io::Result<()> {
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
        if view.is_target(interval.pid) {
            flows.arrive(interval, (group, tid), writer)?;
        }
    }
    Ok(())
}

/// Single dispatches by kernel, where their times are known.
fn dispatches(view: &View<'_>, writer: &mut Writer<&mut dyn Write>) -> std::io::Result<()> {
    let Some(&pid) = view.pids.first() else {
        return Ok(());
    };
    let group = GPU_GROUP + u64::from(pid);
    let all = &view.recording.events.dispatches;
    if !all.is_empty() {
        let name = format!("dispatches ({})", view.recording.time_source);
        writer.name("thread_name", group, DISPATCH_LANE, &name)?;
    }
    for dispatch in all {
        writer.complete(
            (group, DISPATCH_LANE),
            dispatch.span,
            ("dispatch", view.text(dispatch.kernel)),
            None,
            json!({ "label": view.text(dispatch.label) }),
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

//! Chrome's trace event format, which Perfetto, `chrome://tracing` and the Firefox
//! profiler open.
//!
//! A viewer draws the events of one thread as nested boxes, so events that merely overlap
//! need different threads: each queue gets as many lanes as it had command buffers in
//! flight at once, and dispatches get lanes of their own below.

use super::json::{Document, Object};
use crate::snapshot::{CommandBufferRecord, DispatchRecord, Snapshot};
use std::collections::{BTreeMap, HashMap};

/// Thread numbers in the trace: the queue's lanes, then the lanes of its dispatches.
const LANES_PER_QUEUE: u64 = 256;
const DISPATCH_LANES: u64 = 128;
const HOST_THREAD: u64 = 1;

impl Snapshot {
    /// The recorded command buffers and dispatches as a Chrome trace. Times are in
    /// microseconds from the first one; `otherData.origin_ns` says when that was.
    pub fn to_chrome_trace(&self) -> String {
        let starts = self
            .command_buffers
            .iter()
            .map(|record| record.sample.start_ns);
        let commits = self
            .command_buffers
            .iter()
            .filter_map(|record| record.sample.committed_ns);
        let dispatches = self.dispatches.iter().map(|record| record.start_ns);
        let origin = starts.chain(commits).chain(dispatches).min().unwrap_or(0);
        let mut trace = Trace {
            pid: self.process.pid,
            origin,
            events: Vec::new(),
        };
        trace.name("process_name", 0, &self.process.name);
        self.buffer_events(&mut trace);
        self.dispatch_events(&mut trace);
        let mut document = Document::bare();
        document.member("displayTimeUnit", "\"ns\"");
        let other = Object::new()
            .string(
                "producer",
                concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
            )
            .string("time_source", self.time_source.name())
            .string("origin_ns", &origin.to_string())
            .string(
                "dispatches_dropped",
                &self.losses.dispatches_dropped.to_string(),
            );
        document.member("otherData", &other.close());
        document.array("traceEvents", trace.events);
        document.close()
    }

    fn buffer_events(&self, trace: &mut Trace) {
        let mut records: Vec<&CommandBufferRecord> = self.command_buffers.iter().collect();
        records.sort_by_key(|record| record.sample.start_ns);
        let mut lanes = Lanes::default();
        for record in records {
            let sample = &record.sample;
            let lane = lanes.place(sample.queue, sample.start_ns, sample.end_ns);
            let thread = thread(sample.queue, lane.min(DISPATCH_LANES - 1));
            trace.name_lane(&mut lanes, thread, &format!("queue {}", sample.queue), lane);
            let args = Object::new()
                .number("command_buffer", sample.id.get())
                .present(
                    "committed_to_start_ns",
                    sample
                        .committed_ns
                        .and_then(|ns| sample.start_ns.checked_sub(ns)),
                )
                .present("dispatches", sample.dispatches);
            trace.complete(
                &record.label,
                "command_buffer",
                thread,
                sample.start_ns,
                sample.end_ns,
                args,
            );
            if let Some(committed) = sample.committed_ns {
                trace.instant(&record.label, committed);
            }
        }
    }

    fn dispatch_events(&self, trace: &mut Trace) {
        let queues: HashMap<u64, u32> = self
            .command_buffers
            .iter()
            .map(|record| (record.sample.id.get(), record.sample.queue))
            .collect();
        let queue = |record: &DispatchRecord| {
            queues
                .get(&record.command_buffer.get())
                .copied()
                .unwrap_or(0)
        };
        let mut records: Vec<&DispatchRecord> = self.dispatches.iter().collect();
        records.sort_by_key(|record| record.start_ns);
        let mut lanes = Lanes::default();
        for record in records {
            let queue = queue(record);
            let lane = lanes.place(queue, record.start_ns, record.end_ns);
            let thread = thread(queue, DISPATCH_LANES + lane.min(DISPATCH_LANES - 1));
            trace.name_lane(
                &mut lanes,
                thread,
                &format!("queue {queue} dispatches"),
                lane,
            );
            let args = Object::new()
                .string("label", &record.label)
                .number("command_buffer", record.command_buffer.get())
                .number("index", record.index);
            trace.complete(
                &record.kernel,
                "dispatch",
                thread,
                record.start_ns,
                record.end_ns,
                args,
            );
        }
    }
}

fn thread(queue: u32, lane: u64) -> u64 {
    HOST_THREAD + 1 + u64::from(queue) * LANES_PER_QUEUE + lane
}

/// Which lanes of which queue are free from when on.
#[derive(Default)]
struct Lanes {
    free_from: BTreeMap<u32, Vec<u64>>,
    named: BTreeMap<u64, ()>,
}

impl Lanes {
    /// The first lane of the queue that is free at `start`.
    fn place(&mut self, queue: u32, start: u64, end: u64) -> u64 {
        let lanes = self.free_from.entry(queue).or_default();
        let free = lanes.iter().position(|free_from| *free_from <= start);
        let lane = free.unwrap_or_else(|| {
            // Beyond the last lane events are drawn over each other; none is left out.
            if lanes.len() < DISPATCH_LANES as usize {
                lanes.push(0);
            }
            lanes.len() - 1
        });
        lanes[lane] = lanes[lane].max(end);
        lane as u64
    }
}

struct Trace {
    pid: u32,
    origin: u64,
    events: Vec<String>,
}

impl Trace {
    fn event(&self, name: &str, phase: &str, thread: u64) -> Object {
        Object::new()
            .string("name", name)
            .string("ph", phase)
            .number("pid", self.pid)
            .number("tid", thread)
    }

    /// Microseconds from the origin, exactly.
    fn time(&self, ns: u64) -> String {
        let ns = ns.saturating_sub(self.origin);
        format!("{}.{:03}", ns / 1000, ns % 1000)
    }

    fn name(&mut self, what: &str, thread: u64, name: &str) {
        let args = Object::new().string("name", name).close();
        let event = self.event(what, "M", thread).raw("args", &args).close();
        self.events.push(event);
    }

    fn name_lane(&mut self, lanes: &mut Lanes, thread: u64, name: &str, lane: u64) {
        if lanes.named.insert(thread, ()).is_none() {
            let lane = if lane == 0 {
                String::new()
            } else {
                format!(" ({})", lane + 1)
            };
            self.name("thread_name", thread, &format!("{name}{lane}"));
        }
    }

    fn complete(
        &mut self,
        name: &str,
        category: &str,
        thread: u64,
        start: u64,
        end: u64,
        args: Object,
    ) {
        let duration = end - start;
        let event = self
            .event(name, "X", thread)
            .string("cat", category)
            .raw("ts", &self.time(start))
            .raw(
                "dur",
                &format!("{}.{:03}", duration / 1000, duration % 1000),
            )
            .raw("args", &args.close())
            .close();
        self.events.push(event);
    }

    fn instant(&mut self, label: &str, at: u64) {
        let event = self
            .event(&format!("commit {label}"), "i", HOST_THREAD)
            .string("cat", "host")
            .string("s", "t")
            .raw("ts", &self.time(at))
            .close();
        self.events.push(event);
    }
}

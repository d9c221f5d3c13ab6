//! Threads of the target: encoding, command buffers, debug groups, signposts.

use super::flow::Flows;
use super::{MOST_LANES, Writer};
use crate::analysis::view::View;
use crate::events::{Named, Span};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;

/// When, of what category, under what name, and of which command buffer.
type HostEvent<'a> = (Span, &'a str, String, Option<u64>);

pub(super) fn threads(
    view: &View<'_>,
    flows: &mut Flows,
    writer: &mut Writer<&mut dyn Write>,
) -> std::io::Result<()> {
    let events = &view.recording.events;
    let mut rows: BTreeMap<(u64, u64), Vec<HostEvent<'_>>> = BTreeMap::new();
    let mut add = |pid: Option<u32>, thread: Option<u64>, span, cat, name: String, buffer| {
        if let (Some(pid), Some(thread)) = (pid, thread)
            && view.is_target(Some(pid))
        {
            let lane = rows.entry((u64::from(pid), thread)).or_default();
            lane.push((span, cat, name, buffer));
        }
    };
    for e in &events.encodings {
        add(
            e.pid,
            e.thread,
            e.span,
            "encode",
            format!("encode {}", view.text(e.label)),
            Some(e.command_buffer),
        );
    }
    for s in &events.submissions {
        add(
            s.pid,
            s.thread,
            s.span,
            "submit",
            format!("command buffer {}", view.text(s.label)),
            Some(s.command_buffer),
        );
    }
    let mut named = |list: &[Named], cat: &'static str| {
        for n in list {
            let label = view.text(n.label).to_owned();
            add(n.pid, n.thread, n.span, cat, label, None);
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
        for (span, cat, label, buffer) in &lane {
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
            if let Some(buffer) = *buffer {
                flows.leave(buffer, *span, (pid, tid), writer)?;
            }
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

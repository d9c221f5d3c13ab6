//! Arrows from the commit of a command buffer to its execution.
//!
//! An arrow starts in the last event on the host that is known of the buffer (its
//! submission, else the encoding that ended last), passes through the time it waited for
//! the GPU, and ends in its first execution. Viewers bind the ends of an arrow to the
//! events around them, so each is written right after its event.

use super::{Event, Lanes, Writer, micros};
use crate::analysis::view::View;
use crate::events::{GpuInterval, Span};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::io::Write;

/// Thread ids of lanes with waiting command buffers: beyond any thread of the system.
const FIRST_LANE: u64 = 1 << 48;

struct Flow {
    commit: u64,
    /// Start of its first execution.
    start: u64,
    /// The event on the host it starts in, if any.
    from: Option<Span>,
    begun: bool,
    ended: bool,
}

/// Arrows by command buffer.
pub(super) struct Flows(FxHashMap<u64, Flow>);

impl Flows {
    /// The arrows of the target's command buffers whose commit is known.
    pub(super) fn of(view: &View<'_>) -> Self {
        let mut flows: FxHashMap<u64, Flow> = FxHashMap::default();
        for buffer in &view.buffers {
            if let Some(commit) = buffer.commit.get()
                && commit < buffer.gpu.start
            {
                flows.insert(
                    buffer.id,
                    Flow {
                        commit,
                        start: buffer.gpu.start,
                        from: None,
                        begun: false,
                        ended: false,
                    },
                );
            }
        }
        let events = &view.recording.events;
        for encoding in &events.encodings {
            if let Some(flow) = flows.get_mut(&encoding.command_buffer)
                && encoding.thread.is_some()
                && flow.from.is_none_or(|from| from.end <= encoding.span.end)
            {
                flow.from = Some(encoding.span);
            }
        }
        for submission in &events.submissions {
            if let Some(flow) = flows.get_mut(&submission.command_buffer)
                && submission.thread.is_some()
            {
                flow.from = Some(submission.span);
            }
        }
        Flows(flows)
    }

    /// Writes the start of an arrow, if it starts in the event at `span`.
    pub(super) fn leave(
        &mut self,
        buffer: u64,
        span: Span,
        lane: (u64, u64),
        writer: &mut Writer<&mut dyn Write>,
    ) -> std::io::Result<()> {
        match self.0.get_mut(&buffer) {
            Some(flow) if !flow.begun && flow.from == Some(span) && span.end <= flow.commit => {
                flow.begun = true;
                let inside = span.end.saturating_sub(1).max(span.start);
                writer.arrow("s", buffer, lane, inside)
            }
            _ => Ok(()),
        }
    }

    /// Writes the end of an arrow, if this is the first execution of its buffer.
    pub(super) fn arrive(
        &mut self,
        interval: &GpuInterval,
        lane: (u64, u64),
        writer: &mut Writer<&mut dyn Write>,
    ) -> std::io::Result<()> {
        match self.0.get_mut(&interval.command_buffer) {
            Some(flow) if flow.begun && !flow.ended && flow.start == interval.span.start => {
                flow.ended = true;
                writer.arrow("f", interval.command_buffer, lane, interval.span.start)
            }
            _ => Ok(()),
        }
    }
}

impl<W: Write> Writer<W> {
    /// One point of an arrow: `s` its start, `t` a point it passes, `f` its end.
    fn arrow(&mut self, ph: &str, buffer: u64, lane: (u64, u64), time: u64) -> std::io::Result<()> {
        self.event(&Event {
            id: Some(format!("{buffer:#x}")),
            bp: (ph != "s").then_some("e"),
            ..Event::new(ph, ("commit", "commit to execution"), lane, micros(time))
        })
    }
}

/// Lanes with the time each command buffer waited between commit and execution.
pub(super) fn waiting(
    view: &View<'_>,
    flows: &mut Flows,
    writer: &mut Writer<&mut dyn Write>,
) -> std::io::Result<()> {
    let Some(&pid) = view.pids.first() else {
        return Ok(());
    };
    let pid = u64::from(pid);
    let mut waits: Vec<(Span, u64, u32)> = view
        .buffers
        .iter()
        .filter_map(|buffer| {
            let flow = flows.0.get(&buffer.id)?;
            let span = Span {
                start: flow.commit,
                end: flow.start,
            };
            Some((span, buffer.id, buffer.executions))
        })
        .collect();
    waits.sort_unstable();
    if let (false, Some(name)) = (waits.is_empty(), view.recording.process_name(pid as u32)) {
        writer.name("process_name", pid, 0, &format!("{name} ({pid})"))?;
    }
    let mut lanes = Lanes::default();
    let mut named = 0;
    for (span, buffer, executions) in waits {
        // Deeper queues are cut: events on one lane may not cross.
        let Some(lane) = lanes.free(span) else {
            continue;
        };
        let tid = FIRST_LANE + lane as u64;
        if lane >= named {
            named = lane + 1;
            writer.name("thread_name", pid, tid, "committed, waiting for the GPU")?;
        }
        let args = json!({ "command buffer": format!("{buffer:#x}"), "executions": executions });
        writer.complete((pid, tid), span, ("commit", "waiting"), None, args)?;
        if let Some(flow) = flows.0.get_mut(&buffer) {
            let ph = if flow.begun { "t" } else { "s" };
            flow.begun = true;
            writer.arrow(ph, buffer, (pid, tid), span.start)?;
        }
    }
    Ok(())
}

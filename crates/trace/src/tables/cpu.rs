//! The CPU side: samples of call stacks, signposts, and who is who.

use super::{Cells, TableSpec};
use crate::events::{CpuSample, Events, LibraryLoad, Maybe, Named, Span};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        schema: "time-profile",
        columns: &[
            "time",
            "thread",
            "process",
            "thread-state",
            "weight",
            "stack",
        ],
        display_labels: false,
        read: sample,
    },
    TableSpec {
        schema: "cpu-profile",
        columns: &[
            "time",
            "thread",
            "process",
            "thread-state",
            "weight",
            "stack",
        ],
        display_labels: false,
        read: sample,
    },
    TableSpec {
        schema: "OSSignpostIntervals",
        columns: &[
            "start",
            "duration",
            "name",
            "subsystem",
            "process",
            "start-thread",
        ],
        display_labels: false,
        read: signpost_interval,
    },
    TableSpec {
        schema: "os-signpost-interval",
        columns: &[
            "start",
            "duration",
            "name",
            "subsystem",
            "process",
            "start-thread",
        ],
        display_labels: false,
        read: signpost_interval,
    },
    TableSpec {
        schema: "os-signpost",
        columns: &[
            "time",
            "thread",
            "process",
            "event-type",
            "identifier",
            "name",
            "subsystem",
        ],
        display_labels: false,
        read: signpost,
    },
    TableSpec {
        schema: "dyld-library-load",
        columns: &["start", "process", "path"],
        display_labels: false,
        read: |cells, events| {
            let path = cells.text(2);
            if path != crate::TextId::EMPTY {
                let pid = cells.process(1);
                events.libraries.push(LibraryLoad { path, pid });
            }
            Ok(())
        },
    },
    // Read for the names of processes and threads, which the reader gathers itself.
    TableSpec {
        schema: "process-info",
        columns: &["process"],
        display_labels: false,
        read: |_, _| Ok(()),
    },
    TableSpec {
        schema: "thread-info",
        columns: &["thread"],
        display_labels: false,
        read: |_, _| Ok(()),
    },
];

fn sample(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let thread = cells.thread(1);
    let sample = CpuSample {
        time: cells.required(0)?,
        thread: thread.unwrap_or(0),
        pid: cells.process(2).or_else(|| cells.process_of_thread(thread)),
        state: cells.text(3),
        weight: cells.number(4)?.unwrap_or(0),
        stack: cells.stack(5),
    };
    events.samples.push(sample);
    Ok(())
}

fn signpost_interval(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let named = Named {
        span: cells.span(0, 1)?,
        label: cells.text(2),
        kind: cells.text(3),
        pid: cells.process(4),
        thread: cells.thread(5),
        bytes: Maybe::UNKNOWN,
    };
    events.signposts.push(named);
    Ok(())
}

/// Signposts come as begin and end rows; they are paired by name, identifier and
/// thread, which is how Instruments does it for thread-scoped signposts.
fn signpost(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let time = cells.required(0)?;
    let thread = cells.thread(1);
    let kind = cells.text(3);
    let identifier = cells.number(4).ok().flatten().unwrap_or(0);
    let name = cells.text(5);
    let key = (name, identifier, thread.unwrap_or(0));
    if cells.is(kind, "Begin") {
        events.open_signposts.insert(key, time);
    } else if cells.is(kind, "End")
        && let Some(start) = events.open_signposts.remove(&key)
    {
        let named = Named {
            span: Span {
                start: start.min(time),
                end: time,
            },
            label: name,
            kind: cells.text(6),
            pid: cells.process(2),
            thread,
            bytes: Maybe::UNKNOWN,
        };
        events.signposts.push(named);
    }
    Ok(())
}

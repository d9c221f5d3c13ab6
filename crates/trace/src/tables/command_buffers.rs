//! Command buffers and encoders on the CPU, and the driver's part in them.

use super::{Cells, TableSpec};
use crate::events::{BufferEvent, Encoding, Events, Maybe, Named, Submission};

pub(crate) const TABLES: &[TableSpec] = &[
    TableSpec {
        schema: "metal-application-command-buffer-submissions",
        columns: &[
            "start",
            "duration",
            "num-encoders",
            "encoder-time",
            "process",
            "thread",
            "event-label",
            "cmdbuffer-id",
        ],
        display_labels: false,
        read: submission,
    },
    TableSpec {
        schema: "metal-application-encoders-list",
        columns: &[
            "start",
            "duration",
            "thread",
            "process",
            "cmdbuffer-label",
            "encoder-label",
            "cmdbuffer-id",
            "encoder-id",
        ],
        display_labels: false,
        read: encoding,
    },
    TableSpec {
        schema: "metal-command-buffer-completed",
        columns: &["timestamp", "cmdbuffer-id"],
        display_labels: false,
        read: |cells, events| {
            events.completions.push(BufferEvent {
                time: cells.required(0)?,
                command_buffer: cells.required(1)?,
                value: 0,
            });
            Ok(())
        },
    },
    TableSpec {
        schema: "metal-command-buffer-error",
        columns: &["timestamp", "cmdbuffer-id", "error-code"],
        display_labels: false,
        read: |cells, events| {
            events.errors.push(BufferEvent {
                time: cells.required(0)?,
                command_buffer: cells.required(1)?,
                value: cells.number(2)?.unwrap_or(0),
            });
            Ok(())
        },
    },
    TableSpec {
        schema: "metal-command-buffer-frame-assignment",
        columns: &["timestamp", "cmdbuffer-id", "commit-time"],
        display_labels: false,
        read: |cells, events| {
            if let Some(commit) = cells.number(2)? {
                events.commits.push(BufferEvent {
                    time: cells.required(0)?,
                    command_buffer: cells.required(1)?,
                    value: commit,
                });
            }
            Ok(())
        },
    },
    TableSpec {
        schema: "metal-driver-intervals",
        columns: &[
            "start",
            "duration",
            "event-type",
            "event-label",
            "process",
            "thread",
        ],
        display_labels: false,
        read: |cells, events| {
            let named = named(cells)?;
            events.driver.push(named);
            Ok(())
        },
    },
    TableSpec {
        schema: "metal-application-event-interval",
        columns: &[
            "start",
            "duration",
            "event-type",
            "event-label",
            "process",
            "thread",
        ],
        display_labels: false,
        read: |cells, events| {
            let named = named(cells)?;
            events.application.push(named);
            Ok(())
        },
    },
];

fn submission(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let submission = Submission {
        span: cells.span(0, 1)?,
        encoders: cells.number(2)?,
        encoder_time: cells.number(3)?.into(),
        pid: cells.process(4),
        thread: cells.thread(5),
        label: cells.text(6),
        command_buffer: cells.required(7)?,
    };
    events.submissions.push(submission);
    Ok(())
}

fn encoding(cells: &mut Cells<'_>, events: &mut Events) -> Result<(), String> {
    let encoding = Encoding {
        span: cells.span(0, 1)?,
        thread: cells.thread(2),
        pid: cells.process(3),
        buffer_label: cells.text(4),
        label: cells.text(5),
        command_buffer: cells.required(6)?,
        encoder: cells.number(7)?.unwrap_or(0),
    };
    events.encodings.push(encoding);
    Ok(())
}

fn named(cells: &mut Cells<'_>) -> Result<Named, String> {
    Ok(Named {
        span: cells.span(0, 1)?,
        kind: cells.text(2),
        label: cells.text(3),
        pid: cells.process(4),
        thread: cells.thread(5),
        bytes: Maybe::UNKNOWN,
    })
}

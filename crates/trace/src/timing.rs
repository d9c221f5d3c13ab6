//! Recordings of the timing library: JSON of schema `assay.timing.recording`.
//!
//! A program that times its own command buffers knows less than Instruments (nothing of
//! other processes or of the driver) and more: when each buffer was created, scheduled
//! and completed, and its dispatches by kernel. Command buffers take the place of
//! encoder executions.

use crate::error::{Error, Problem};
use crate::events::{BufferEvent, DispatchTime, GpuInterval, Span};
use crate::recording::{Origin, Recording, TableRead, Warning};
use crate::toc::{TocProcess, TocRun};
use serde::Deserialize;

/// Larger ones are refused.
pub(crate) const LARGEST: u64 = 1 << 30;

const SCHEMA: &str = "assay.timing.recording";

#[derive(Deserialize)]
struct Document {
    schema: Option<Schema>,
    #[serde(default)]
    time_source: Option<String>,
    #[serde(default)]
    process: Process,
    #[serde(default)]
    command_buffers: Vec<Buffer>,
    #[serde(default)]
    dispatches: Vec<Dispatch>,
    #[serde(default)]
    losses: Losses,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Schema {
    name: String,
    version: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Process {
    name: String,
    pid: u32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Losses {
    command_buffers_dropped: u64,
    dispatches_dropped: u64,
    pending: u64,
}

#[derive(Deserialize)]
struct Buffer {
    id: u64,
    #[serde(default)]
    label: String,
    #[serde(default)]
    queue: u32,
    created_ns: Option<u64>,
    committed_ns: Option<u64>,
    start_ns: u64,
    end_ns: u64,
    completed_ns: Option<u64>,
}

#[derive(Deserialize)]
struct Dispatch {
    #[serde(default)]
    label: String,
    #[serde(default)]
    kernel: String,
    start_ns: u64,
    end_ns: u64,
}

pub(crate) fn read(text: &[u8]) -> Result<Recording, Error> {
    if text.len() as u64 > LARGEST {
        return Err(Error::Unrecognised(format!(
            "JSON of more than {LARGEST} bytes"
        )));
    }
    let other = |what: String| Error::Unrecognised(what);
    let document: Document = serde_json::from_slice(text)
        .map_err(|error| other(format!("JSON, but not a timing recording: {error}")))?;
    match &document.schema {
        Some(schema) if schema.name == SCHEMA && schema.version == 1 => {}
        Some(schema) => {
            return Err(other(format!(
                "JSON of schema {} version {}, not {SCHEMA} version 1",
                schema.name, schema.version
            )));
        }
        None => return Err(other("JSON without a schema".to_owned())),
    }
    Ok(build(document))
}

fn build(document: Document) -> Recording {
    let mut recording = Recording::empty(Origin::Timing);
    let pid = document.process.pid;
    let origin = document
        .command_buffers
        .iter()
        .flat_map(|b| [b.created_ns, b.committed_ns, Some(b.start_ns)])
        .flatten()
        .chain(document.dispatches.iter().map(|d| d.start_ns))
        .min()
        .unwrap_or(0);
    let mut backwards = 0u64;
    for buffer in &document.command_buffers {
        if buffer.end_ns < buffer.start_ns {
            backwards += 1;
            continue;
        }
        let start = buffer.start_ns - origin;
        let latency = buffer
            .committed_ns
            .and_then(|commit| buffer.start_ns.checked_sub(commit));
        let label = recording.texts.add(&buffer.label);
        let channel = recording.texts.add(&format!("queue {}", buffer.queue));
        recording.events.gpu.push(GpuInterval {
            span: Span::new(start, buffer.end_ns - buffer.start_ns),
            latency: latency.into(),
            command_buffer: buffer.id,
            encoder: buffer.id,
            label,
            channel,
            pid: Some(pid),
            active: true,
        });
        if let Some(completed) = buffer.completed_ns.and_then(|t| t.checked_sub(origin)) {
            recording.events.completions.push(BufferEvent {
                time: completed,
                command_buffer: buffer.id,
                value: 0,
            });
        }
    }
    for dispatch in &document.dispatches {
        if dispatch.end_ns < dispatch.start_ns {
            backwards += 1;
            continue;
        }
        let (label, kernel) = (
            recording.texts.add(&dispatch.label),
            recording.texts.add(&dispatch.kernel),
        );
        recording.events.dispatches.push(DispatchTime {
            span: Span::new(
                dispatch.start_ns - origin,
                dispatch.end_ns - dispatch.start_ns,
            ),
            label,
            kernel,
        });
    }
    recording.events.gpu.sort_by_key(|interval| interval.span);
    recording.events.completions.sort_by_key(|event| event.time);
    recording
        .events
        .dispatches
        .sort_by_key(|dispatch| dispatch.span);
    describe(&mut recording, &document, backwards);
    recording
}

fn describe(recording: &mut Recording, document: &Document, backwards: u64) {
    let process = &document.process;
    let name = recording.texts.add(&process.name);
    recording.processes.insert(process.pid, name);
    recording.toc = Some(TocRun {
        number: 1,
        target: Some(TocProcess {
            name: process.name.clone(),
            pid: Some(process.pid),
            ..TocProcess::default()
        }),
        ..TocRun::default()
    });
    recording.time_source = document
        .time_source
        .clone()
        .unwrap_or_else(|| "unknown".to_owned());
    for (schema, rows) in [
        ("command buffers", document.command_buffers.len()),
        ("dispatches", document.dispatches.len()),
    ] {
        recording.tables.push(TableRead {
            schema: schema.to_owned(),
            input: "timing recording".to_owned(),
            run: 1,
            table: None,
            rows: rows as u64,
            unusable: 0,
            understood: true,
        });
    }
    let losses = &document.losses;
    let mut warn = |message: String| {
        recording.warnings.push(Warning {
            input: "timing recording".to_owned(),
            problem: Problem {
                offset: None,
                message,
            },
        });
    };
    for (count, what) in [
        (
            losses.command_buffers_dropped,
            "command buffers were overwritten before the recording was taken",
        ),
        (
            losses.dispatches_dropped,
            "dispatches were overwritten before the recording was taken",
        ),
        (
            losses.pending,
            "command buffers were not finished when the recording was taken",
        ),
        (
            backwards,
            "command buffers or dispatches end before they start; they are left out",
        ),
    ] {
        if count > 0 {
            warn(format!("{count} {what}"));
        }
    }
    for note in &document.notes {
        warn(note.clone());
    }
}

//! A program's own recording in the form that `assay trace report` reads, schema
//! `assay.timing.recording`: every command buffer and dispatch with its times, so that a
//! recording gets the same verdict as an Instruments trace.

use super::json::{Document, Object, quote};
use crate::snapshot::Snapshot;

/// A recording: what [`Snapshot::to_recording`] writes. With the feature `serde` it can
/// be read back; unknown members are ignored and absent times are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct Recording {
    /// `measured`, `modelled` or `host`.
    pub time_source: String,
    /// The program that recorded.
    pub process: RecordedProcess,
    /// Command buffers in the order in which they were recorded.
    pub command_buffers: Vec<RecordedBuffer>,
    /// Dispatches in the order in which they were recorded.
    pub dispatches: Vec<RecordedDispatch>,
    /// What is missing.
    pub losses: RecordedLosses,
    /// Remarks made while recording.
    pub notes: Vec<String>,
}

/// The program that recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct RecordedProcess {
    /// Its name; empty when not known.
    pub name: String,
    /// Its process number.
    pub pid: u32,
}

/// Samples that are not in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct RecordedLosses {
    /// Command buffers overwritten in the ring.
    pub command_buffers_dropped: u64,
    /// Dispatches overwritten in the ring.
    pub dispatches_dropped: u64,
    /// Command buffers not finished when the recording was taken.
    pub pending: u64,
}

/// A command buffer of a recording; times in nanoseconds of one host clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct RecordedBuffer {
    /// Number within the recording.
    pub id: u64,
    /// Label.
    pub label: String,
    /// Tells command queues apart.
    pub queue: u32,
    /// Created by the host.
    pub created_ns: Option<u64>,
    /// Committed by the host.
    pub committed_ns: Option<u64>,
    /// Scheduled for the GPU.
    pub scheduled_ns: Option<u64>,
    /// Started by the GPU.
    pub start_ns: u64,
    /// Finished by the GPU.
    pub end_ns: u64,
    /// Reported to the host as finished.
    pub completed_ns: Option<u64>,
    /// Dispatches encoded.
    pub dispatches: Option<u32>,
    /// `unknown`, `dispatch_boundary` or `encoder_per_dispatch`.
    pub sampling: String,
}

/// A dispatch of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
pub struct RecordedDispatch {
    /// `id` of its command buffer; `None` if only the label is known.
    pub command_buffer: Option<u64>,
    /// The command buffer's label.
    pub label: String,
    /// Kernel or kind of operation.
    pub kernel: String,
    /// Place in the command buffer.
    pub index: u32,
    /// Start.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
}

impl Snapshot {
    /// The command buffers and dispatches in the rings as a [`Recording`].
    pub fn recording(&self) -> Recording {
        let buffers = self.command_buffers.iter().map(|record| {
            let sample = &record.sample;
            RecordedBuffer {
                id: sample.id.get(),
                label: record.label.as_ref().to_owned(),
                queue: sample.queue,
                created_ns: sample.created_ns,
                committed_ns: sample.committed_ns,
                scheduled_ns: sample.scheduled_ns,
                start_ns: sample.start_ns,
                end_ns: sample.end_ns,
                completed_ns: sample.completed_ns,
                dispatches: sample.dispatches,
                sampling: sample.sampling.name().to_owned(),
            }
        });
        let dispatches = self.dispatches.iter().map(|record| RecordedDispatch {
            command_buffer: Some(record.command_buffer.get()).filter(|id| *id != 0),
            label: record.label.as_ref().to_owned(),
            kernel: record.kernel.as_ref().to_owned(),
            index: record.index,
            start_ns: record.start_ns,
            end_ns: record.end_ns,
        });
        Recording {
            time_source: self.time_source.name().to_owned(),
            process: RecordedProcess {
                name: self.process.name.clone(),
                pid: self.process.pid,
            },
            command_buffers: buffers.collect(),
            dispatches: dispatches.collect(),
            losses: RecordedLosses {
                command_buffers_dropped: self.losses.command_buffers_dropped,
                dispatches_dropped: self.losses.dispatches_dropped,
                pending: self.losses.pending,
            },
            notes: self.notes.clone(),
        }
    }

    /// The recording as JSON, for `assay trace report`.
    pub fn to_recording(&self) -> String {
        self.recording().to_json()
    }
}

impl Recording {
    /// Name of the schema in the document.
    pub const SCHEMA: &'static str = "assay.timing.recording";
    /// Its version.
    pub const VERSION: u32 = 1;

    /// The recording as JSON with its schema; members without a value are left out.
    pub fn to_json(&self) -> String {
        let mut document = Document::new(Self::SCHEMA, Self::VERSION);
        document.member("time_source", &quote(&self.time_source));
        let process = Object::new()
            .string("name", &self.process.name)
            .number("pid", self.process.pid);
        document.member("process", &process.close());
        document.array(
            "command_buffers",
            self.command_buffers.iter().map(buffer_json),
        );
        document.array("dispatches", self.dispatches.iter().map(dispatch_json));
        let losses = Object::new()
            .number(
                "command_buffers_dropped",
                self.losses.command_buffers_dropped,
            )
            .number("dispatches_dropped", self.losses.dispatches_dropped)
            .number("pending", self.losses.pending);
        document.member("losses", &losses.close());
        document.array("notes", self.notes.iter().map(|note| quote(note)));
        document.close()
    }
}

fn buffer_json(buffer: &RecordedBuffer) -> String {
    Object::new()
        .number("id", buffer.id)
        .string("label", &buffer.label)
        .number("queue", buffer.queue)
        .present("created_ns", buffer.created_ns)
        .present("committed_ns", buffer.committed_ns)
        .present("scheduled_ns", buffer.scheduled_ns)
        .number("start_ns", buffer.start_ns)
        .number("end_ns", buffer.end_ns)
        .present("completed_ns", buffer.completed_ns)
        .present("dispatches", buffer.dispatches)
        .string("sampling", &buffer.sampling)
        .close()
}

fn dispatch_json(dispatch: &RecordedDispatch) -> String {
    Object::new()
        .present("command_buffer", dispatch.command_buffer)
        .string("label", &dispatch.label)
        .string("kernel", &dispatch.kernel)
        .number("index", dispatch.index)
        .number("start_ns", dispatch.start_ns)
        .number("end_ns", dispatch.end_ns)
        .close()
}

//! From recorded calls to command buffers, encoders, dispatches and pipelines.
//!
//! A dispatch does not name its kernel. The encoder knows its pipeline state, the
//! pipeline state was made from a function, and the function was asked of a library by
//! name: following those handles gives the name.

use super::document::*;
use super::mtsp::{self, Call, Record};
use crate::error::Error;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Selectors whose meaning was established on real captures.
mod selector {
    pub(super) const SET_LABEL: [u32; 4] = [0xffff_c00c, 0xffff_c013, 0xffff_c02d, 0xffff_c023];
    pub(super) const COMMIT: u32 = 0xffff_c017;
    pub(super) const WAIT_UNTIL_COMPLETED: u32 = 0xffff_c01d;
    pub(super) const COMPUTE_ENCODER: u32 = 0xffff_c020;
    pub(super) const COMMAND_BUFFER: u32 = 0xffff_c029;
    pub(super) const SET_PIPELINE: u32 = 0xffff_c02f;
    pub(super) const SET_BUFFER: u32 = 0xffff_c030;
    pub(super) const END_ENCODING: u32 = 0xffff_c03b;
    pub(super) const NEW_QUEUE: u32 = 0xffff_c045;
    pub(super) const NEW_BUFFER: u32 = 0xffff_c046;
    pub(super) const NEW_LIBRARY: u32 = 0xffff_c04e;
    pub(super) const NEW_PIPELINE: u32 = 0xffff_c055;
    pub(super) const NEW_FUNCTION: u32 = 0xffff_c05e;
    pub(super) const DISPATCH_THREADS: u32 = 0xffff_c132;
    pub(super) const BUFFER_CONTENTS: u32 = 0xffff_d803;
    pub(super) const PROPERTY: u32 = 0xffff_d010;
    /// Known, and without interest here.
    pub(super) const IGNORED: &[u32] = &[
        0xffff_c00d,
        0xffff_c011,
        0xffff_c015,
        0xffff_c024,
        0xffff_c025,
        0xffff_c026,
        0xffff_c027,
        0xffff_c02c,
        0xffff_c02e,
        0xffff_c05c,
        0xffff_c13d,
        0xffff_c288,
        0xffff_d007,
        0xffff_d008,
        0xffff_d800,
        0xffff_d801,
        0xffff_d805,
        0xffff_d80b,
        0xffff_d80c,
        0xffff_d811,
        0xffff_d81e,
        0xffff_d825,
        0xffff_d831,
        0xffff_d836,
        0xffff_d839,
        0xffff_d845,
    ];
}

/// Tags of property records.
mod property {
    pub(super) const FUNCTION_SOURCE: u64 = 0x65;
    pub(super) const ARGUMENT: u64 = 0x6a;
    pub(super) const STATISTICS: u64 = 0x74;
    pub(super) const LIBRARY_PATH: u64 = 0x7f;
}

/// A signature shared by all calls that dispatch a grid of threadgroups.
const DISPATCH_SIGNATURE: &str = "C@3ul@3ul";
/// Calls kept of one capture.
const MOST_DISPATCHES: u64 = 5_000_000;

#[derive(Clone, Debug, Default)]
struct Function {
    name: String,
    library: u64,
    source: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct PipelineObject {
    function: Option<u64>,
    statistics_member: Option<String>,
    arguments: BTreeMap<u64, String>,
}

#[derive(Clone, Debug, Default)]
struct BufferObject {
    length: Option<u64>,
    member: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct LibraryObject {
    member: Option<String>,
    path: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct OpenEncoder {
    buffer: usize,
    encoder: usize,
    pipeline: Option<u64>,
    bindings: BTreeMap<u64, (u64, u64)>,
}

/// Gathers calls of several streams.
#[derive(Default)]
pub(crate) struct Calls {
    functions: BTreeMap<u64, Function>,
    pipelines: BTreeMap<u64, PipelineObject>,
    buffers: BTreeMap<u64, BufferObject>,
    libraries: BTreeMap<u64, LibraryObject>,
    queues: BTreeMap<u64, ()>,
    labels: FxHashMap<u64, String>,
    last_library: Option<u64>,
    command_buffers: Vec<CommandBuffer>,
    /// Handles are reused: these are the objects that currently carry them.
    buffer_places: FxHashMap<u64, usize>,
    encoders: FxHashMap<u64, OpenEncoder>,
    pub(crate) calls: u64,
    dispatches: u64,
    unknown: BTreeMap<u32, u64>,
}

impl Calls {
    /// Reads a stream. An error says where it stops making sense; what came before is
    /// kept.
    pub(crate) fn read(&mut self, member: &str, bytes: &[u8]) -> Result<(), Error> {
        for record in mtsp::records(member, bytes)? {
            let record = record?;
            self.calls += 1;
            self.record(&record);
            if self.dispatches >= MOST_DISPATCHES {
                return Err(Error::Capture {
                    member: member.to_owned(),
                    offset: record.offset as u64,
                    what: format!("more than {MOST_DISPATCHES} dispatches"),
                });
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>) {
        let call = record.call();
        let receiver = call.object(0).unwrap_or(0);
        match record.selector {
            selector::COMMAND_BUFFER => self.command_buffer(receiver, &call),
            selector::COMPUTE_ENCODER => self.encoder(receiver, &call),
            selector::SET_PIPELINE => {
                if let Some(open) = self.encoders.get_mut(&receiver) {
                    open.pipeline = call.object(1);
                }
            }
            selector::SET_BUFFER => {
                if let (Some(open), Some(buffer), Some(offset), Some(index)) = (
                    self.encoders.get_mut(&receiver),
                    call.object(1),
                    call.number(2),
                    call.number(3),
                ) {
                    open.bindings.insert(index, (buffer, offset));
                }
            }
            selector::END_ENCODING => {
                if let Some(open) = self.encoders.remove(&receiver)
                    && let Some(encoder) = self.encoder_at(&open)
                {
                    encoder.ended = true;
                }
            }
            selector::COMMIT => self.with_buffer(receiver, |buffer| buffer.committed = true),
            selector::WAIT_UNTIL_COMPLETED => {
                self.with_buffer(receiver, |buffer| buffer.waited = true);
            }
            selector::PROPERTY => self.property(receiver, &call),
            selector if selector::SET_LABEL.contains(&selector) => {
                if let Some(label) = call.text(1).filter(|label| !label.is_empty()) {
                    self.label(receiver, label);
                }
            }
            _ if record.signature.starts_with(DISPATCH_SIGNATURE)
                && self.encoders.contains_key(&receiver) =>
            {
                self.dispatch(receiver, record.selector, &call);
            }
            selector => self.creation(selector, receiver, &call),
        }
    }

    fn creation(&mut self, selector: u32, receiver: u64, call: &Call) {
        let made = call.returned;
        match (selector, made) {
            (selector::NEW_QUEUE, Some(queue)) => {
                self.queues.insert(queue, ());
            }
            (selector::NEW_BUFFER, Some(buffer)) => {
                self.buffers.entry(buffer).or_default().length = call.number(1);
            }
            (selector::BUFFER_CONTENTS, Some(buffer)) => {
                let object = self.buffers.entry(buffer).or_default();
                object.member = call.text(1).map(str::to_owned);
                object.length = call.number(2);
            }
            (selector::NEW_LIBRARY, Some(library)) => {
                let object = self.libraries.entry(library).or_default();
                object.member = call.text(1).map(str::to_owned);
                self.last_library = Some(library);
            }
            (selector::NEW_FUNCTION, Some(function)) => {
                let object = self.functions.entry(function).or_default();
                object.name = call.text(1).unwrap_or_default().to_owned();
                object.library = receiver;
            }
            (selector::NEW_PIPELINE, Some(pipeline)) => {
                self.pipelines.entry(pipeline).or_default().function = call.object(1);
            }
            (other, _) if selector::IGNORED.contains(&other) => {}
            (other, _) => *self.unknown.entry(other).or_default() += 1,
        }
    }

    fn command_buffer(&mut self, queue: u64, call: &Call) {
        let Some(id) = call.returned else {
            return;
        };
        self.queues.insert(queue, ());
        self.buffer_places.insert(id, self.command_buffers.len());
        self.command_buffers.push(CommandBuffer {
            id: hex(id),
            queue: Some(hex(queue)),
            label: None,
            committed: false,
            waited: false,
            encoders: Vec::new(),
        });
    }

    fn encoder(&mut self, buffer: u64, call: &Call) {
        let (Some(id), Some(&place)) = (call.returned, self.buffer_places.get(&buffer)) else {
            return;
        };
        let Some(buffer) = self.command_buffers.get_mut(place) else {
            return;
        };
        self.encoders.insert(
            id,
            OpenEncoder {
                buffer: place,
                encoder: buffer.encoders.len(),
                ..OpenEncoder::default()
            },
        );
        buffer.encoders.push(Encoder {
            id: hex(id),
            label: None,
            ended: false,
            dispatches: Vec::new(),
        });
    }

    fn encoder_at(&mut self, open: &OpenEncoder) -> Option<&mut Encoder> {
        let buffer = self.command_buffers.get_mut(open.buffer)?;
        buffer.encoders.get_mut(open.encoder)
    }

    fn with_buffer(&mut self, id: u64, change: impl FnOnce(&mut CommandBuffer)) {
        let place = self.buffer_places.get(&id).copied();
        if let Some(buffer) = place.and_then(|place| self.command_buffers.get_mut(place)) {
            change(buffer);
        }
    }

    fn label(&mut self, object: u64, label: &str) {
        self.labels.insert(object, label.to_owned());
        self.with_buffer(object, |buffer| buffer.label = Some(label.to_owned()));
        if let Some(open) = self.encoders.get(&object).cloned()
            && let Some(encoder) = self.encoder_at(&open)
        {
            encoder.label = Some(label.to_owned());
        }
    }

    fn property(&mut self, receiver: u64, call: &Call) {
        match call.number(1) {
            Some(property::STATISTICS) => {
                let member = call.text(2).map(str::to_owned);
                self.pipelines
                    .entry(receiver)
                    .or_default()
                    .statistics_member = member;
            }
            Some(property::FUNCTION_SOURCE) => {
                let source = call.text(3).map(str::to_owned);
                self.functions.entry(receiver).or_default().source = source;
            }
            Some(property::ARGUMENT) => {
                // name, type, access, active, index: the index is the fifth value.
                if let (Some(name), Some(index)) = (call.text(2), call.number(6)) {
                    let pipeline = self.pipelines.entry(receiver).or_default();
                    pipeline.arguments.insert(index, name.to_owned());
                }
            }
            Some(property::LIBRARY_PATH) => {
                // The receiver is the device; the library is the one just made.
                if let Some(library) = self.last_library {
                    self.libraries.entry(library).or_default().path =
                        call.text(2).map(str::to_owned);
                }
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, receiver: u64, selector: u32, call: &Call) {
        let Some(open) = self.encoders.get(&receiver).cloned() else {
            return;
        };
        let (Some(grid), Some(threadgroup)) = (call.size(1), call.size(2)) else {
            return;
        };
        self.dispatches += 1;
        let binding = |(&index, &(buffer, offset)): (&u64, &(u64, u64))| Binding {
            index,
            name: None,
            buffer: hex(buffer),
            label: None,
            offset,
            length: None,
        };
        let dispatch = Dispatch {
            kernel: None,
            pipeline: open.pipeline.map(hex),
            grid,
            grid_unit: if selector == selector::DISPATCH_THREADS {
                "threads"
            } else {
                "unknown"
            }
            .to_owned(),
            threadgroup,
            buffers: open.bindings.iter().map(binding).collect(),
        };
        if let Some(encoder) = self.encoder_at(&open) {
            encoder.dispatches.push(dispatch);
        }
    }

    /// Resolves handles. `member` gives the bytes of a member, if it can be had.
    pub(crate) fn finish(mut self, member: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Capture {
        let pipelines = self.pipeline_table(member);
        let kernels: FxHashMap<&str, &Pipeline> = pipelines
            .iter()
            .map(|pipeline| (pipeline.id.as_str(), pipeline))
            .collect();
        let buffers: BTreeMap<String, BufferInfo> = self
            .buffers
            .iter()
            .map(|(&id, object)| {
                let info = BufferInfo {
                    id: hex(id),
                    label: self.labels.get(&id).cloned(),
                    length: object.length,
                    member: object.member.clone(),
                };
                (hex(id), info)
            })
            .collect();
        let mut waits = 0;
        for buffer in &mut self.command_buffers {
            waits += u64::from(buffer.waited);
            for dispatch in buffer.encoders.iter_mut().flat_map(|e| &mut e.dispatches) {
                let pipeline = dispatch.pipeline.as_deref().and_then(|id| kernels.get(id));
                dispatch.kernel = pipeline.and_then(|pipeline| pipeline.kernel.clone());
                for binding in &mut dispatch.buffers {
                    binding.name = pipeline.and_then(|p| p.arguments.get(&binding.index).cloned());
                    if let Some(info) = buffers.get(&binding.buffer) {
                        binding.label.clone_from(&info.label);
                        binding.length = info.length;
                    }
                }
            }
        }
        Capture {
            device: None,
            uuid: None,
            libraries: self.library_table(member),
            command_buffers: self.command_buffers,
            pipelines,
            buffers: buffers.into_values().collect(),
            queues: self.queues.len() as u64,
            dispatches: self.dispatches,
            waits,
            calls: self.calls,
            unknown_selectors: self
                .unknown
                .iter()
                .map(|(selector, &count)| (format!("{selector:08x}"), count))
                .collect(),
            members: Vec::new(),
            code: Vec::new(),
        }
    }

    fn pipeline_table(&self, member: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Vec<Pipeline> {
        let mut out = Vec::with_capacity(self.pipelines.len());
        for (&id, object) in &self.pipelines {
            let function = object.function.and_then(|id| self.functions.get(&id));
            let bytes = object.statistics_member.as_deref().and_then(&mut *member);
            let statistics = bytes.and_then(|bytes| super::statistics::read(&bytes));
            let named = function.map(|function| function.name.clone());
            let compiled = statistics.as_ref().and_then(|s| s.function.clone());
            out.push(Pipeline {
                id: hex(id),
                kernel: named.filter(|name| !name.is_empty()).or(compiled),
                library: function.map(|function| hex(function.library)),
                source: function.and_then(|function| function.source.clone()),
                arguments: object.arguments.clone(),
                statistics,
            });
        }
        out
    }

    fn library_table(&self, member: &mut dyn FnMut(&str) -> Option<Vec<u8>>) -> Vec<Library> {
        let mut out = Vec::with_capacity(self.libraries.len());
        for (&id, object) in &self.libraries {
            let bytes = object.member.as_deref().and_then(&mut *member);
            let functions = self.functions.values();
            let functions = functions.filter(|function| function.library == id);
            out.push(Library {
                id: hex(id),
                member: object.member.clone(),
                path: object.path.clone(),
                bytes: bytes.map(|bytes| bytes.len() as u64),
                functions: functions.map(|function| function.name.clone()).collect(),
            });
        }
        out
    }
}

fn hex(handle: u64) -> String {
    format!("{handle:#x}")
}

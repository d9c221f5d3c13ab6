//! Writing.

use crate::event::*;
use crate::interned::Room;
use crate::patch::put_patch;
use crate::wire::{checksum, put, put_bytes, put_difference};
use crate::{MAGIC, VERSION};
use rustc_hash::FxHashMap;
use std::io::Write;
use std::sync::Arc;

/// Bytes of records after which a frame is written.
const FRAME: usize = 64 << 10;

/// Tags of records.
pub(crate) mod tag {
    pub(crate) const END: u8 = 0;
    pub(crate) const PROCESS: u8 = 1;
    pub(crate) const DEVICE: u8 = 2;
    pub(crate) const TEXT: u8 = 3;
    pub(crate) const BYTES: u8 = 4;
    pub(crate) const FORGET: u8 = 5;
    pub(crate) const LIBRARY: u8 = 6;
    pub(crate) const PIPELINE: u8 = 7;
    pub(crate) const BUFFER: u8 = 8;
    pub(crate) const COMMAND_BUFFER: u8 = 9;
    pub(crate) const ENCODER: u8 = 10;
    pub(crate) const DISPATCH: u8 = 11;
    pub(crate) const FILL: u8 = 12;
    pub(crate) const COPY: u8 = 13;
    pub(crate) const BARRIER: u8 = 14;
    pub(crate) const BARRIER_FOR: u8 = 15;
    pub(crate) const UPDATE_FENCE: u8 = 16;
    pub(crate) const WAIT_FOR_FENCE: u8 = 17;
    pub(crate) const SIGNAL: u8 = 18;
    pub(crate) const WAIT_FOR_EVENT: u8 = 19;
    pub(crate) const COMPLETED: u8 = 20;
    pub(crate) const WAITED: u8 = 21;
}

/// Geometry and threadgroup memory of a pipeline's last dispatch, which is often that of the next.
pub(crate) type Shape = (Extent, [u32; 3], Vec<(u32, u32)>);

/// Pipelines whose last dispatch is remembered.
pub(crate) const REMEMBERED: u32 = 1 << 14;

/// Contents of at most this length are written as differences.
pub(crate) const DIFFERENCES: usize = 4096;

/// Writes a recording.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    frame: Vec<u8>,
    fields: Vec<u8>,
    room: Room,
    texts: FxHashMap<Arc<str>, u32>,
    blobs: FxHashMap<Arc<[u8]>, u32>,
    /// Of each length the last contents, with their number.
    last_blobs: FxHashMap<usize, (u32, Arc<[u8]>)>,
    shapes: FxHashMap<u32, Shape>,
    time: u64,
    events: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a recording.
    pub fn new(mut out: W) -> std::io::Result<Self> {
        out.write_all(MAGIC)?;
        out.write_all(&[VERSION])?;
        Ok(Writer {
            out,
            frame: Vec::with_capacity(2 * FRAME),
            fields: Vec::new(),
            room: Room::default(),
            texts: FxHashMap::default(),
            blobs: FxHashMap::default(),
            last_blobs: FxHashMap::default(),
            shapes: FxHashMap::default(),
            time: 0,
            events: 0,
        })
    }

    /// Adds an event. What is not yet a whole frame stays in memory.
    pub fn write(&mut self, event: &Event) -> std::io::Result<()> {
        self.events += 1;
        let mut fields = std::mem::take(&mut self.fields);
        fields.clear();
        let tag = match event {
            Event::Process(one) => self.process(&mut fields, one),
            Event::Device(one) => {
                self.put_text(&mut fields, &one.name);
                self.put_text(&mut fields, &one.chip);
                tag::DEVICE
            }
            Event::Library(one) => self.library(&mut fields, one),
            Event::Pipeline(one) => self.pipeline(&mut fields, one),
            Event::Buffer(one) => {
                put(&mut fields, one.id);
                put(&mut fields, one.bytes);
                put(&mut fields, one.address);
                self.put_text(&mut fields, &one.label);
                fields.push(u8::from(one.tracked));
                tag::BUFFER
            }
            Event::CommandBuffer(one) => {
                put(&mut fields, one.id);
                put(&mut fields, one.queue);
                self.put_text(&mut fields, &one.label);
                self.put_time(&mut fields, one.created_ns);
                self.put_time(&mut fields, one.committed_ns);
                put(&mut fields, one.commands);
                tag::COMMAND_BUFFER
            }
            Event::Command(one) => self.command(&mut fields, one),
            Event::Completed(one) => {
                put(&mut fields, one.command_buffer);
                self.put_time(&mut fields, one.started_ns);
                self.put_time(&mut fields, one.ended_ns);
                tag::COMPLETED
            }
            Event::Waited(one) => {
                put(&mut fields, one.command_buffer);
                self.put_time(&mut fields, one.from_ns);
                self.put_time(&mut fields, one.to_ns);
                tag::WAITED
            }
        };
        self.record(tag, &fields);
        self.fields = fields;
        if self.frame.len() >= FRAME {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what is in memory.
    pub fn flush(&mut self) -> std::io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(self.frame.len())
            .map_err(|_| std::io::Error::other("a frame of more than 4 GiB"))?;
        let mut head = [0; 8];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&checksum(&self.frame).to_le_bytes());
        self.out.write_all(&head)?;
        self.out.write_all(&self.frame)?;
        self.frame.clear();
        self.out.flush()
    }

    /// Ends the recording: without it a reader says that the end is missing.
    pub fn finish(&mut self) -> std::io::Result<()> {
        let mut fields = Vec::new();
        put(&mut fields, self.events);
        self.record(tag::END, &fields);
        self.flush()
    }

    fn record(&mut self, tag: u8, fields: &[u8]) {
        self.frame.push(tag);
        put_bytes(&mut self.frame, fields);
    }

    fn put_time(&mut self, fields: &mut Vec<u8>, now: u64) {
        put_difference(fields, self.time, now);
        self.time = now;
    }

    /// Appends a text by its number. What finds no room among the numbered is written where it stands: a record refers to what
    /// stands before it, so numbers are forgotten only between records.
    fn put_text(&mut self, fields: &mut Vec<u8>, text: &Arc<str>) {
        let known = self.texts.get(text).copied();
        let number = known.or_else(|| {
            self.room.take(text.len()).then(|| {
                self.record(tag::TEXT, text.as_bytes());
                let number = self.texts.len() as u32;
                self.texts.insert(Arc::clone(text), number);
                number
            })
        });
        match number {
            Some(number) => put(fields, u64::from(number) + 1),
            None => {
                put(fields, 0);
                put_bytes(fields, text.as_bytes());
            }
        }
    }

    fn put_texts(&mut self, fields: &mut Vec<u8>, texts: &[Arc<str>]) {
        put(fields, texts.len() as u64);
        texts.iter().for_each(|text| self.put_text(fields, text));
    }

    fn put_blob(&mut self, fields: &mut Vec<u8>, bytes: &Arc<[u8]>) {
        let known = self.blobs.get(bytes).copied();
        let number = known.or_else(|| {
            self.room.take(bytes.len()).then(|| {
                let number = self.blobs.len() as u32;
                let mut content = Vec::new();
                let before = self.last_blobs.get(&bytes.len());
                match before.filter(|_| bytes.len() <= DIFFERENCES) {
                    Some((base, before)) => {
                        put(&mut content, u64::from(*base) + 1);
                        put_patch(&mut content, before, bytes);
                    }
                    None => {
                        put(&mut content, 0);
                        content.extend_from_slice(bytes);
                    }
                }
                self.record(tag::BYTES, &content);
                self.blobs.insert(Arc::clone(bytes), number);
                self.last_blobs
                    .insert(bytes.len(), (number, Arc::clone(bytes)));
                number
            })
        });
        match number {
            Some(number) => put(fields, u64::from(number) + 1),
            None => {
                put(fields, 0);
                put_bytes(fields, bytes);
            }
        }
    }

    /// Forgets texts and contents when there is no room for more of them.
    fn forget_if_full(&mut self) {
        if self.room.is_nearly_full() {
            self.record(tag::FORGET, &[]);
            self.room = Room::default();
            self.texts.clear();
            self.blobs.clear();
            self.last_blobs.clear();
        }
    }

    fn process(&mut self, fields: &mut Vec<u8>, one: &Process) -> u8 {
        put(fields, u64::from(one.pid));
        self.put_texts(fields, &one.arguments);
        fields.push(u8::from(one.executed));
        tag::PROCESS
    }

    fn library(&mut self, fields: &mut Vec<u8>, one: &Library) -> u8 {
        put(fields, u64::from(one.id));
        fields.extend_from_slice(&one.hash);
        match &one.form {
            Form::Compiled => fields.push(0),
            Form::Source {
                fast_math,
                standard,
                defines,
            } => {
                fields.push(1 + u8::from(*fast_math));
                self.put_text(fields, standard);
                self.put_texts(fields, defines);
            }
        }
        match &one.contents {
            Contents::Unknown => fields.push(0),
            Contents::File(path) => {
                fields.push(1);
                self.put_text(fields, path);
            }
            Contents::Here(bytes) => {
                fields.push(2);
                put_bytes(fields, bytes);
            }
        }
        tag::LIBRARY
    }

    fn pipeline(&mut self, fields: &mut Vec<u8>, one: &Pipeline) -> u8 {
        put(fields, u64::from(one.id));
        put(fields, u64::from(one.library));
        self.put_text(fields, &one.function);
        put(fields, one.threadgroup_memory);
        self.put_time(fields, one.made_ns[0]);
        self.put_time(fields, one.made_ns[1]);
        put(fields, one.constants.len() as u64);
        for constant in &one.constants {
            self.put_text(fields, &constant.key);
            self.put_text(fields, &constant.kind);
            put(fields, constant.elements.len() as u64);
            constant.elements.iter().for_each(|bits| put(fields, *bits));
        }
        tag::PIPELINE
    }

    fn command(&mut self, fields: &mut Vec<u8>, one: &Command) -> u8 {
        self.forget_if_full();
        match one {
            Command::Encoder(one) => {
                fields.push(u8::from(one.kind == EncoderKind::Concurrent));
                self.put_text(fields, &one.label);
                self.put_time(fields, one.created_ns);
                tag::ENCODER
            }
            Command::Dispatch(one) => self.dispatch(fields, one),
            Command::Fill {
                buffer,
                offset,
                bytes,
            } => {
                put_all(fields, &[*buffer, *offset, *bytes]);
                tag::FILL
            }
            Command::Copy {
                from,
                from_offset,
                to,
                to_offset,
                bytes,
            } => {
                put_all(fields, &[*from, *from_offset, *to, *to_offset, *bytes]);
                tag::COPY
            }
            Command::Barrier => tag::BARRIER,
            Command::BarrierFor(ranges) => {
                put(fields, ranges.len() as u64);
                for [start, end] in ranges {
                    put(fields, *start);
                    put(fields, *end);
                }
                tag::BARRIER_FOR
            }
            Command::UpdateFence(fence) => {
                put(fields, *fence);
                tag::UPDATE_FENCE
            }
            Command::WaitForFence(fence) => {
                put(fields, *fence);
                tag::WAIT_FOR_FENCE
            }
            Command::Signal { event, value } => {
                put_all(fields, &[*event, *value]);
                tag::SIGNAL
            }
            Command::WaitForEvent { event, value } => {
                put_all(fields, &[*event, *value]);
                tag::WAIT_FOR_EVENT
            }
        }
    }

    fn dispatch(&mut self, fields: &mut Vec<u8>, one: &Dispatch) -> u8 {
        put(fields, u64::from(one.pipeline));
        let remembered = self.shapes.get(&one.pipeline);
        let is_same = remembered.is_some_and(|(extent, threadgroup, memory)| {
            *extent == one.extent && *threadgroup == one.threadgroup && *memory == one.memory
        });
        if is_same {
            fields.push(3);
        } else {
            put_extent(fields, &one.extent);
            put_all(fields, &one.threadgroup.map(u64::from));
            put(fields, one.memory.len() as u64);
            for (index, bytes) in &one.memory {
                put(fields, u64::from(*index));
                put(fields, u64::from(*bytes));
            }
            if one.pipeline < REMEMBERED {
                let shape = (one.extent, one.threadgroup, one.memory.clone());
                self.shapes.insert(one.pipeline, shape);
            }
        }
        self.put_text(fields, &one.label);
        self.put_text(fields, &one.group);
        self.put_time(fields, one.encoded_ns);
        put(fields, one.bindings.len() as u64);
        for (index, binding) in &one.bindings {
            let index = u64::from(*index) << 1;
            match binding {
                Binding::Buffer { buffer, offset } => {
                    put(fields, index);
                    put(fields, *buffer);
                    put(fields, *offset);
                }
                Binding::Bytes(bytes) => {
                    put(fields, index | 1);
                    self.put_blob(fields, bytes);
                }
            }
        }
        tag::DISPATCH
    }
}

fn put_all(fields: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|number| put(fields, *number));
}

fn put_extent(fields: &mut Vec<u8>, extent: &Extent) {
    let (kind, counts) = match extent {
        Extent::Threads(counts) => (0, counts),
        Extent::Groups(counts) => (1, counts),
        Extent::Indirect { buffer, offset } => {
            fields.push(2);
            put(fields, *buffer);
            return put(fields, *offset);
        }
    };
    fields.push(kind);
    put_all(fields, &counts.map(u64::from));
}

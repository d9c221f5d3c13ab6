//! Reading.

use crate::error::Error;
use crate::event::*;
use crate::interned::Room;
use crate::patch::patched;
use crate::wire::{Fields, checksum};
use crate::writer::{DIFFERENCES, REMEMBERED, Shape, tag};
use crate::{LARGEST_LIBRARY, MAGIC, VERSION};
use rustc_hash::FxHashMap;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

/// Bytes of a frame at most: a library and what is written with it.
const LARGEST_FRAME: usize = LARGEST_LIBRARY + (16 << 20);

/// Reads a recording, an event at a time; memory does not grow with its length.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    frame: Vec<u8>,
    /// Where the next record begins in the frame.
    at: usize,
    /// The offset of the frame's records in the file.
    start: u64,
    room: Room,
    texts: Vec<Arc<str>>,
    blobs: Vec<Arc<[u8]>>,
    shapes: FxHashMap<u32, Shape>,
    time: u64,
    events: u64,
    /// Commands that must still follow the last command buffer.
    commands: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the head of a recording.
    pub fn new(mut input: R) -> Result<Self, Error> {
        let mut head = [0; 9];
        let count = fill(&mut input, &mut head)?;
        match head.split_last() {
            Some((version, magic)) if count == head.len() && magic == MAGIC => {
                if *version != VERSION {
                    return Err(Error::Version {
                        found: *version,
                        known: VERSION,
                    });
                }
            }
            _ => return Err(Error::NotARecording),
        }
        Ok(Reader {
            input,
            frame: Vec::new(),
            at: 0,
            start: head.len() as u64,
            room: Room::default(),
            texts: Vec::new(),
            blobs: Vec::new(),
            shapes: FxHashMap::default(),
            time: 0,
            events: 0,
            commands: 0,
            ended: false,
        })
    }

    /// Returns true if the end of the recording was read: its program ended by itself.
    pub fn is_complete(&self) -> bool {
        self.ended
    }

    /// The next event; none at the end.
    pub fn next_event(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if self.at >= self.frame.len() && !self.next_frame()? {
                return Ok(None);
            }
            let frame = std::mem::take(&mut self.frame);
            let read = self.record(&frame);
            self.frame = frame;
            if let Some(event) = read? {
                self.events += 1;
                return Ok(Some(event));
            }
        }
    }

    fn next_frame(&mut self) -> Result<bool, Error> {
        let begins = self.start + self.frame.len() as u64;
        let damaged = |what| {
            Err(Error::Damaged {
                offset: begins,
                what,
            })
        };
        let mut head = [0; 8];
        let count = fill(&mut self.input, &mut head)?;
        if count == 0 {
            return Ok(false);
        }
        if self.ended {
            return damaged("something follows the end");
        }
        if count < head.len() {
            return Err(Error::Truncated {
                offset: begins + count as u64,
            });
        }
        let [a, b, c, d, e, f, g, h] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let expected = u32::from_le_bytes([e, f, g, h]);
        if length > LARGEST_FRAME {
            return damaged("a frame longer than any");
        }
        self.start = begins + head.len() as u64;
        self.at = 0;
        self.frame.clear();
        // A length that lies takes no memory: what is read grows with what is there.
        let mut part = self.input.by_ref().take(length as u64);
        part.read_to_end(&mut self.frame)?;
        if self.frame.len() < length {
            return Err(Error::Truncated {
                offset: self.start + self.frame.len() as u64,
            });
        }
        if checksum(&self.frame) != expected {
            return Err(Error::Damaged {
                offset: self.start,
                what: "the checksum of a frame is another",
            });
        }
        Ok(length > 0 || self.next_frame()?)
    }

    /// Reads a record; none if it only says what others refer to.
    fn record(&mut self, frame: &[u8]) -> Result<Option<Event>, Error> {
        let rest = frame.get(self.at..).unwrap_or_default();
        let mut all = Fields::new(rest, self.start + self.at as u64);
        let begins = all;
        let tag = all.byte()?;
        let length = all.number()?;
        let mut fields = all.part(length)?;
        self.at = frame.len() - all.left();
        if self.commands > 0 && !is_inside_command_buffer(tag) {
            return Err(begins.damaged("a command buffer has fewer commands than it says"));
        }
        let event = self.event(tag, &mut fields, &begins)?;
        fields.ends()?;
        Ok(event)
    }

    fn event(
        &mut self,
        tag: u8,
        fields: &mut Fields<'_>,
        begins: &Fields<'_>,
    ) -> Result<Option<Event>, Error> {
        let event = match tag {
            tag::TEXT => {
                let text = self.new_text(fields)?;
                self.keep(text.len(), begins)?;
                self.texts.push(text);
                return Ok(None);
            }
            tag::BYTES => {
                let bytes = self.new_blob(fields)?;
                self.keep(bytes.len(), begins)?;
                self.blobs.push(bytes);
                return Ok(None);
            }
            tag::FORGET => {
                self.room = Room::default();
                self.texts.clear();
                self.blobs.clear();
                return Ok(None);
            }
            tag::END => {
                if fields.number()? != self.events {
                    return Err(begins.damaged("the end counts other events"));
                }
                self.ended = true;
                return Ok(None);
            }
            tag::PROCESS => Event::Process(Process {
                pid: fields.small()?,
                arguments: self.texts(fields)?,
                executed: fields.byte()? != 0,
            }),
            tag::DEVICE => Event::Device(Device {
                name: self.text(fields)?,
                chip: self.text(fields)?,
            }),
            tag::LIBRARY => Event::Library(self.library(fields)?),
            tag::PIPELINE => Event::Pipeline(self.pipeline(fields)?),
            tag::BUFFER => Event::Buffer(Buffer {
                id: fields.number()?,
                bytes: fields.number()?,
                address: fields.number()?,
                label: self.text(fields)?,
                tracked: fields.byte()? != 0,
            }),
            tag::COMMAND_BUFFER => {
                let one = CommandBuffer {
                    id: fields.number()?,
                    queue: fields.number()?,
                    label: self.text(fields)?,
                    created_ns: self.moment(fields)?,
                    committed_ns: self.moment(fields)?,
                    commands: fields.number()?,
                };
                self.commands = one.commands;
                Event::CommandBuffer(one)
            }
            tag::COMPLETED => Event::Completed(Completed {
                command_buffer: fields.number()?,
                started_ns: self.moment(fields)?,
                ended_ns: self.moment(fields)?,
            }),
            tag::WAITED => Event::Waited(Waited {
                command_buffer: fields.number()?,
                from_ns: self.moment(fields)?,
                to_ns: self.moment(fields)?,
            }),
            _ => {
                let command = self.command(tag, fields, begins)?;
                let left = self.commands.checked_sub(1);
                self.commands =
                    left.ok_or_else(|| begins.damaged("a command outside a command buffer"))?;
                Event::Command(command)
            }
        };
        Ok(Some(event))
    }

    fn keep(&mut self, bytes: usize, begins: &Fields<'_>) -> Result<(), Error> {
        match self.room.take(bytes) {
            true => Ok(()),
            false => Err(begins.damaged("more texts and contents than are kept")),
        }
    }

    fn moment(&mut self, fields: &mut Fields<'_>) -> Result<u64, Error> {
        self.time = fields.difference(self.time)?;
        Ok(self.time)
    }

    fn new_text(&self, fields: &mut Fields<'_>) -> Result<Arc<str>, Error> {
        let before = *fields;
        let bytes = fields.take(fields.left() as u64)?;
        let text = std::str::from_utf8(bytes);
        text.map(Arc::from)
            .map_err(|_| before.damaged("a text that is not UTF-8"))
    }

    fn new_blob(&self, fields: &mut Fields<'_>) -> Result<Arc<[u8]>, Error> {
        match fields.number()?.checked_sub(1) {
            None => Ok(fields.take(fields.left() as u64)?.into()),
            Some(base) => {
                let base = usize::try_from(base)
                    .ok()
                    .and_then(|base| self.blobs.get(base));
                let base = base.filter(|base| base.len() <= DIFFERENCES);
                let base =
                    base.ok_or_else(|| fields.damaged("differences from contents nobody wrote"))?;
                Ok(patched(fields, base)?.into())
            }
        }
    }

    fn text(&self, fields: &mut Fields<'_>) -> Result<Arc<str>, Error> {
        let before = *fields;
        match fields.number()?.checked_sub(1) {
            None => {
                let length = fields.number()?;
                self.new_text(&mut fields.part(length)?)
            }
            Some(number) => {
                let found = usize::try_from(number)
                    .ok()
                    .and_then(|at| self.texts.get(at));
                found
                    .cloned()
                    .ok_or_else(|| before.damaged("a text that nobody wrote"))
            }
        }
    }

    fn texts(&self, fields: &mut Fields<'_>) -> Result<Vec<Arc<str>>, Error> {
        (0..fields.count()?).map(|_| self.text(fields)).collect()
    }

    fn blob(&self, fields: &mut Fields<'_>) -> Result<Arc<[u8]>, Error> {
        let before = *fields;
        match fields.number()?.checked_sub(1) {
            None => Ok(fields.bytes()?.into()),
            Some(number) => {
                let found = usize::try_from(number)
                    .ok()
                    .and_then(|at| self.blobs.get(at));
                found
                    .cloned()
                    .ok_or_else(|| before.damaged("contents that nobody wrote"))
            }
        }
    }

    fn library(&self, fields: &mut Fields<'_>) -> Result<Library, Error> {
        let id = fields.small()?;
        let mut hash = [0; 32];
        hash.copy_from_slice(fields.take(32)?);
        let form = match fields.byte()? {
            0 => Form::Compiled,
            kind @ (1 | 2) => Form::Source {
                fast_math: kind == 2,
                standard: self.text(fields)?,
                defines: self.texts(fields)?,
            },
            _ => return Err(fields.damaged("a library of a kind nobody writes")),
        };
        let contents = match fields.byte()? {
            0 => Contents::Unknown,
            1 => Contents::File(self.text(fields)?),
            2 => Contents::Here(fields.bytes()?.into()),
            _ => return Err(fields.damaged("contents of a kind nobody writes")),
        };
        Ok(Library {
            id,
            form,
            hash,
            contents,
        })
    }

    fn pipeline(&mut self, fields: &mut Fields<'_>) -> Result<Pipeline, Error> {
        let (id, library) = (fields.small()?, fields.small()?);
        let function = self.text(fields)?;
        let threadgroup_memory = fields.number()?;
        let made_ns = [self.moment(fields)?, self.moment(fields)?];
        let mut constants = Vec::new();
        for _ in 0..fields.count()? {
            let (key, kind) = (self.text(fields)?, self.text(fields)?);
            let elements = (0..fields.count()?).map(|_| fields.number());
            let elements = elements.collect::<Result<_, _>>()?;
            constants.push(Constant {
                key,
                kind,
                elements,
            });
        }
        Ok(Pipeline {
            id,
            library,
            function,
            constants,
            threadgroup_memory,
            made_ns,
        })
    }

    fn command(
        &mut self,
        tag: u8,
        fields: &mut Fields<'_>,
        begins: &Fields<'_>,
    ) -> Result<Command, Error> {
        Ok(match tag {
            tag::ENCODER => Command::Encoder(Encoder {
                kind: match fields.byte()? {
                    0 => EncoderKind::Serial,
                    _ => EncoderKind::Concurrent,
                },
                label: self.text(fields)?,
                created_ns: self.moment(fields)?,
            }),
            tag::DISPATCH => Command::Dispatch(Box::new(self.dispatch(fields)?)),
            tag::FILL => Command::Fill {
                buffer: fields.number()?,
                offset: fields.number()?,
                bytes: fields.number()?,
            },
            tag::COPY => Command::Copy {
                from: fields.number()?,
                from_offset: fields.number()?,
                to: fields.number()?,
                to_offset: fields.number()?,
                bytes: fields.number()?,
            },
            tag::BARRIER => Command::Barrier,
            tag::BARRIER_FOR => {
                let ranges = (0..fields.count()?).map(|_| Ok([fields.number()?, fields.number()?]));
                Command::BarrierFor(ranges.collect::<Result<_, Error>>()?)
            }
            tag::UPDATE_FENCE => Command::UpdateFence(fields.number()?),
            tag::WAIT_FOR_FENCE => Command::WaitForFence(fields.number()?),
            tag::SIGNAL => Command::Signal {
                event: fields.number()?,
                value: fields.number()?,
            },
            tag::WAIT_FOR_EVENT => Command::WaitForEvent {
                event: fields.number()?,
                value: fields.number()?,
            },
            _ => return Err(begins.damaged("a record of a kind nobody writes")),
        })
    }

    fn dispatch(&mut self, fields: &mut Fields<'_>) -> Result<Dispatch, Error> {
        let pipeline = fields.small()?;
        let (extent, threadgroup, memory) = self.shape(pipeline, fields)?;
        let (label, group) = (self.text(fields)?, self.text(fields)?);
        let encoded_ns = self.moment(fields)?;
        let mut bindings = Vec::new();
        for _ in 0..fields.count()? {
            let index = fields.small()?;
            let binding = match index & 1 {
                0 => Binding::Buffer {
                    buffer: fields.number()?,
                    offset: fields.number()?,
                },
                _ => Binding::Bytes(self.blob(fields)?),
            };
            bindings.push((index >> 1, binding));
        }
        Ok(Dispatch {
            pipeline,
            extent,
            threadgroup,
            bindings,
            memory,
            label,
            group,
            encoded_ns,
        })
    }

    fn shape(&mut self, pipeline: u32, fields: &mut Fields<'_>) -> Result<Shape, Error> {
        let extent = match fields.byte()? {
            0 => Extent::Threads(fields.triple()?),
            1 => Extent::Groups(fields.triple()?),
            2 => Extent::Indirect {
                buffer: fields.number()?,
                offset: fields.number()?,
            },
            3 => {
                let last = self.shapes.get(&pipeline).cloned();
                return last.ok_or_else(|| fields.damaged("a dispatch like one nobody wrote"));
            }
            _ => return Err(fields.damaged("a grid of a kind nobody writes")),
        };
        let threadgroup = fields.triple()?;
        let memory = (0..fields.count()?).map(|_| Ok((fields.small()?, fields.small()?)));
        let memory = memory.collect::<Result<Vec<_>, Error>>()?;
        let shape = (extent, threadgroup, memory);
        if pipeline < REMEMBERED {
            self.shapes.insert(pipeline, shape.clone());
        }
        Ok(shape)
    }
}

/// Commands, and what they refer to.
fn is_inside_command_buffer(tag: u8) -> bool {
    (tag::ENCODER..=tag::WAIT_FOR_EVENT).contains(&tag)
        || [tag::TEXT, tag::BYTES, tag::FORGET].contains(&tag)
}

/// Reads until the place is full or the input ends; how many bytes there were.
fn fill(input: &mut impl Read, place: &mut [u8]) -> Result<usize, Error> {
    let mut count = 0;
    while let Some(rest) = place.get_mut(count..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(count)
}

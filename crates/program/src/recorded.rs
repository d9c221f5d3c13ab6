//! What a program encoded, with each launch once.

use assay_recording::{
    Binding, Buffer, Command, CommandBuffer, Completed, Device, Dispatch, Encoder, Error, Event,
    Extent, Library, Pipeline, Process, Reader, Waited,
};
use rustc_hash::FxHashMap;
use std::io::Read;
use std::sync::Arc;

/// A recording with its dispatches as numbers of launches.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The program.
    pub process: Process,
    /// The device it saw.
    pub device: Device,
    /// Libraries by number.
    pub libraries: Vec<Library>,
    /// Pipelines by number.
    pub pipelines: Vec<Pipeline>,
    /// The first pipeline that is the same as each: a program may make one again.
    pub(crate) same: Vec<u32>,
    /// Buffers.
    pub buffers: FxHashMap<u64, Buffer>,
    /// Distinct launches.
    pub launches: Vec<Launch>,
    /// What happened, in the order of commits.
    pub steps: Vec<Step>,
    /// What is wrong with the recording.
    pub warnings: Vec<String>,
}

/// A kernel at a certain size with certain values: it does the same each time, as far as contents of buffers do not decide.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// The pipeline, the first of those that are the same.
    pub pipeline: u32,
    /// The grid.
    pub extent: Extent,
    /// Threads of a threadgroup.
    pub threadgroup: [u32; 3],
    /// Bytes of threadgroup memory, by index.
    pub memory: Vec<(u32, u32)>,
    /// What is bound, by index.
    pub arguments: Vec<(u32, Given)>,
}

/// What a launch has at an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Given {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// A buffer: which of those that the launch binds at different places.
    Buffer(u32),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Step {
    /// A command buffer is committed; what follows is in it.
    CommandBuffer(CommandBuffer),
    /// An encoder begins.
    Encoder(Encoder),
    /// A dispatch.
    Dispatch(Dispatched),
    /// A copy, or a fill, which reads nothing.
    Copy {
        /// The buffer that is read.
        from: Option<u64>,
        /// The one that is written.
        to: u64,
        /// From where.
        to_offset: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// A barrier within an encoder: for these addresses, or for everything.
    Barrier(Option<Vec<[u64; 2]>>),
    /// A command buffer has run on the host.
    Completed(Completed),
    /// The program waited for a command buffer.
    Waited(Waited),
}

/// A dispatch.
#[derive(Clone, Debug)]
pub struct Dispatched {
    /// Its launch.
    pub launch: u32,
    /// The buffers of the launch's places, with offsets.
    pub bound: Box<[(u64, u64)]>,
    /// The label of its encoder.
    pub label: Arc<str>,
    /// Its debug groups.
    pub group: Arc<str>,
    /// When the host encoded it.
    pub encoded_ns: u64,
}

/// Dispatches of one recording at most: the memory for them is some hundred bytes each.
const MOST_STEPS: usize = 20_000_000;

impl Recorded {
    /// Reads a recording. What was written before a program was killed, or before damage, counts, with a warning.
    pub fn read(input: impl Read) -> Result<Recorded, Error> {
        let mut reader = Reader::new(input)?;
        let mut recorded = Recorded::default();
        let mut known: FxHashMap<Launch, u32> = FxHashMap::default();
        loop {
            match reader.next_event() {
                Ok(Some(event)) => recorded.add(event, &mut known),
                Ok(None) if reader.is_complete() => break,
                Ok(None) => {
                    recorded.warn("the recording has no end: the program was killed, or runs on");
                    break;
                }
                Err(error) if recorded.steps.is_empty() => return Err(error),
                Err(error) => {
                    recorded.warn(&format!("{error}; what is before it is shown"));
                    break;
                }
            }
            if recorded.steps.len() > MOST_STEPS {
                recorded.warn(&format!("only the first {MOST_STEPS} commands are shown"));
                break;
            }
        }
        Ok(recorded)
    }

    fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    pub(crate) fn add(&mut self, event: Event, known: &mut FxHashMap<Launch, u32>) {
        match event {
            Event::Process(process) => self.process = process,
            Event::Device(device) => self.device = device,
            Event::Library(library) => self.libraries.push(library),
            Event::Pipeline(pipeline) => self.pipeline(pipeline),
            Event::Buffer(buffer) => {
                self.buffers.insert(buffer.id, buffer);
            }
            Event::CommandBuffer(one) => self.steps.push(Step::CommandBuffer(one)),
            Event::Completed(one) => self.steps.push(Step::Completed(one)),
            Event::Waited(one) => self.steps.push(Step::Waited(one)),
            Event::Command(command) => self.command(command, known),
        }
    }

    fn pipeline(&mut self, pipeline: Pipeline) {
        let hash = |one: &Pipeline| {
            let library = self.libraries.get(one.library as usize);
            library.map(|library| (library.hash, library.form.clone()))
        };
        let is_same = |other: &Pipeline| {
            other.function == pipeline.function
                && other.constants == pipeline.constants
                && hash(other) == hash(&pipeline)
        };
        let own = self.pipelines.len() as u32;
        let first = self.pipelines.iter().position(is_same);
        self.same.push(first.map_or(own, |first| first as u32));
        self.pipelines.push(pipeline);
    }

    fn command(&mut self, command: Command, known: &mut FxHashMap<Launch, u32>) {
        let step = match command {
            Command::Encoder(encoder) => Step::Encoder(encoder),
            Command::Dispatch(dispatch) => Step::Dispatch(self.dispatch(*dispatch, known)),
            Command::Fill {
                buffer,
                offset,
                bytes,
            } => Step::Copy {
                from: None,
                to: buffer,
                to_offset: offset,
                bytes,
            },
            Command::Copy {
                from,
                to,
                to_offset,
                bytes,
                ..
            } => Step::Copy {
                from: Some(from),
                to,
                to_offset,
                bytes,
            },
            Command::Barrier => Step::Barrier(None),
            Command::BarrierFor(ranges) => Step::Barrier(Some(ranges)),
            // One queue after the other on one GPU: what orders queues changes nothing.
            Command::UpdateFence(_)
            | Command::WaitForFence(_)
            | Command::Signal { .. }
            | Command::WaitForEvent { .. } => return,
        };
        self.steps.push(step);
    }

    fn dispatch(&mut self, dispatch: Dispatch, known: &mut FxHashMap<Launch, u32>) -> Dispatched {
        let mut bound: Vec<(u64, u64)> = Vec::new();
        let arguments = dispatch.bindings.into_iter().map(|(index, binding)| {
            let given = match binding {
                Binding::Bytes(bytes) => Given::Bytes(bytes),
                Binding::Buffer { buffer, offset } => {
                    let place = bound.iter().position(|one| *one == (buffer, offset));
                    Given::Buffer(place.unwrap_or_else(|| {
                        bound.push((buffer, offset));
                        bound.len() - 1
                    }) as u32)
                }
            };
            (index, given)
        });
        let same = self.same.get(dispatch.pipeline as usize).copied();
        let launch = Launch {
            pipeline: same.unwrap_or(dispatch.pipeline),
            extent: dispatch.extent,
            threadgroup: dispatch.threadgroup,
            memory: dispatch.memory,
            arguments: arguments.collect(),
        };
        let next = self.launches.len() as u32;
        let number = match known.get(&launch) {
            Some(number) => *number,
            None => {
                self.launches.push(launch.clone());
                known.insert(launch, next);
                next
            }
        };
        Dispatched {
            launch: number,
            bound: bound.into(),
            label: dispatch.label,
            group: dispatch.group,
            encoded_ns: dispatch.encoded_ns,
        }
    }

    /// The name of a launch's kernel.
    pub fn kernel(&self, launch: u32) -> Arc<str> {
        let launch = self.launches.get(launch as usize);
        let pipeline = launch.and_then(|launch| self.pipelines.get(launch.pipeline as usize));
        pipeline.map_or_else(
            || "(unknown)".into(),
            |pipeline| Arc::clone(&pipeline.function),
        )
    }

    /// The dispatches, in order.
    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatched> {
        self.steps.iter().filter_map(|step| match step {
            Step::Dispatch(dispatch) => Some(dispatch),
            _ => None,
        })
    }
}

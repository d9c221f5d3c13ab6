//! Writes what the program encodes to the file of `ASSAY_METAL_RECORD`: a command buffer at its commit, with what it refers to
//! before it. See crate `assay-recording` for the file.

use crate::command::{Bound, Command, Dispatch, Extent};
use crate::library::{LIBRARY, Library, PIPELINE, Pipeline};
use crate::queue::CommandBuffer;
use crate::resource::{BUFFER, Buffer, lock};
use crate::settings::{Skip, settings};
use crate::sync::{event_number, fence_number};
use assay_foundation::system::nanoseconds;
use assay_objc::Strong;
use assay_objc::diagnostics::tell;
use assay_recording as file;
use file::{Event, Writer};
use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// Names an object in recordings: addresses come to be others' when objects are gone.
#[derive(Debug)]
pub(crate) struct Number(u64);

impl Default for Number {
    fn default() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Relaxed))
    }
}

/// What writes events, and knows which of what they refer to is written.
pub(crate) struct Recorder<W: Write> {
    writer: Writer<W>,
    /// Libraries, pipelines and buffers that are in the file. The first two have numbers of the file.
    libraries: Vec<u64>,
    pipelines: Vec<u64>,
    buffers: HashSet<u64>,
}

/// Returns true if this process is recorded.
pub(crate) fn is_on() -> bool {
    settings().record.is_some() && !crate::fork::is_forked()
}

/// The host's time, or nothing where nobody records.
pub(crate) fn now() -> u64 {
    if is_on() { nanoseconds() } else { 0 }
}

/// The recorder, made with the first command buffer: a process that only starts others writes no file.
fn recorder() -> Option<&'static Mutex<Option<Recorder<File>>>> {
    static RECORDER: OnceLock<Mutex<Option<Recorder<File>>>> = OnceLock::new();
    let path = settings().record.as_ref()?;
    Some(RECORDER.get_or_init(|| {
        let made = create(path).and_then(Recorder::begin);
        Mutex::new(
            made.map_err(|why| tell(&format!("recording to {}: {why}", path.display())))
                .ok(),
        )
    }))
}

/// Does something with the recorder; a file that cannot be written ends the recording, not the program.
fn with(write: impl FnOnce(&mut Recorder<File>) -> std::io::Result<()>) {
    let Some(place) = recorder() else { return };
    let mut place = lock(place);
    if let Some(recorder) = place.as_mut()
        && let Err(why) = write(recorder)
    {
        tell(&format!("the recording ends here: {why}"));
        *place = None;
    }
}

/// A command buffer is committed.
pub(crate) fn committed(buffer: &CommandBuffer) {
    if is_on() {
        with(|recorder| recorder.command_buffer(buffer));
    }
}

/// A command buffer has run on this CPU.
pub(crate) fn completed(command_buffer: u64, started_ns: u64, ended_ns: u64) {
    if is_on() {
        with(|recorder| {
            recorder.writer.write(&Event::Completed(file::Completed {
                command_buffer,
                started_ns,
                ended_ns,
            }))
        });
    }
}

/// The program has waited for a command buffer since a time.
pub(crate) fn waited(command_buffer: u64, from_ns: u64) {
    if is_on() {
        with(|recorder| {
            recorder.writer.write(&Event::Waited(file::Waited {
                command_buffer,
                from_ns,
                to_ns: nanoseconds(),
            }))
        });
    }
}

/// The process ends.
pub(crate) fn finish() {
    if !is_on() {
        return;
    }
    let Some(place) = recorder() else { return };
    let Some(mut recorder) = lock(place).take() else {
        return;
    };
    if let Err(why) = recorder.writer.finish() {
        tell(&format!("the recording has no end: {why}"));
    }
}

impl<W: Write> Recorder<W> {
    /// Begins a recording of this process.
    pub(crate) fn begin(out: W) -> std::io::Result<Self> {
        let mut writer = Writer::new(out)?;
        let arguments = std::env::args_os().map(|word| word.to_string_lossy().into());
        writer.write(&Event::Process(file::Process {
            pid: std::process::id(),
            arguments: arguments.collect(),
            executed: settings().skip == Skip::None,
        }))?;
        let (chip, name) = crate::device::names();
        writer.write(&Event::Device(file::Device {
            name: name.into(),
            chip: chip.into(),
        }))?;
        Ok(Recorder {
            writer,
            libraries: Vec::new(),
            pipelines: Vec::new(),
            buffers: HashSet::new(),
        })
    }

    /// Writes what is still in memory.
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        self.writer.flush()
    }

    /// Writes a command buffer that is committed, after what it refers to.
    pub(crate) fn command_buffer(&mut self, buffer: &CommandBuffer) -> std::io::Result<()> {
        let commands = lock(&buffer.commands);
        for command in commands.iter() {
            self.introduce(command)?;
        }
        let recorded = commands.iter().enumerate();
        let recorded: Vec<file::Command> = recorded
            .filter_map(|(at, command)| self.command(command, &commands[at..]))
            .collect();
        self.writer
            .write(&Event::CommandBuffer(file::CommandBuffer {
                id: buffer.record.number(),
                queue: buffer.number,
                // SAFETY: a label is a string or nil.
                label: unsafe { assay_foundation::text(lock(&buffer.label).id()) }.into(),
                created_ns: buffer.created,
                committed_ns: nanoseconds(),
                commands: recorded.len() as u64,
            }))?;
        for command in recorded {
            self.writer.write(&Event::Command(command))?;
        }
        Ok(())
    }

    /// Writes what a command refers to.
    fn introduce(&mut self, command: &Command) -> std::io::Result<()> {
        match command {
            Command::Dispatch(dispatch) => {
                self.pipeline(&dispatch.pipeline)?;
                for (_, bound) in &dispatch.bound {
                    if let Bound::Buffer(object, _) = bound {
                        self.buffer(object)?;
                    }
                }
                match &dispatch.extent {
                    Extent::Indirect(object, _) => self.buffer(object),
                    _ => Ok(()),
                }
            }
            Command::Fill { buffer, .. } => self.buffer(buffer),
            Command::Copy { from, to, .. } => {
                self.buffer(from)?;
                self.buffer(to)
            }
            _ => Ok(()),
        }
    }

    fn buffer(&mut self, object: &Strong) -> std::io::Result<()> {
        let Some(buffer) = buffer_of(object) else {
            return Ok(());
        };
        if !self.buffers.insert(buffer.number()) {
            return Ok(());
        }
        self.writer.write(&Event::Buffer(file::Buffer {
            id: buffer.number(),
            bytes: buffer.length as u64,
            address: buffer.range().start,
            // SAFETY: a label is a string or nil.
            label: unsafe { assay_foundation::text(lock(&buffer.allocation.label).id()) }.into(),
            tracked: buffer.is_tracked(),
        }))
    }

    fn pipeline(&mut self, object: &Strong) -> std::io::Result<()> {
        let Some(pipeline) = pipeline_of(object) else {
            return Ok(());
        };
        let number = pipeline.record.number.0;
        if self.pipelines.contains(&number) {
            return Ok(());
        }
        let library = self.library(&pipeline.library)?;
        let id = self.pipelines.len() as u32;
        self.pipelines.push(number);
        let constants = pipeline.record.constants.iter().map(|given| {
            let shown = given.ty.to_string();
            // `v4f32` is written `f324` where values are given.
            let kind = match shown.strip_prefix('v') {
                Some(rest) => {
                    let (lanes, scalar) = rest.split_at(rest.len().min(1));
                    format!("{scalar}{lanes}")
                }
                None => shown,
            };
            file::Constant {
                key: given.key.to_string().into(),
                kind: kind.into(),
                elements: given.elements.clone(),
            }
        });
        self.writer.write(&Event::Pipeline(file::Pipeline {
            id,
            library,
            function: pipeline.name.as_str().into(),
            constants: constants.collect(),
            threadgroup_memory: pipeline.threadgroup_memory(),
            made_ns: pipeline.record.made_ns,
        }))
    }

    /// Writes a library; its number in the file.
    fn library(&mut self, object: &Strong) -> std::io::Result<u32> {
        // SAFETY: the pipeline keeps its library.
        let library = unsafe { LIBRARY.state::<Library>(object.id()) };
        let Some(library) = library else { return Ok(0) };
        let number = library.number.0;
        if let Some(known) = self.libraries.iter().position(|known| *known == number) {
            return Ok(known as u32);
        }
        let id = self.libraries.len() as u32;
        self.libraries.push(number);
        let (form, bytes, path) = match (library.source(), library.compiled()) {
            (Some((text, options)), _) => {
                let form = file::Form::Source {
                    fast_math: options.fast_math,
                    standard: options.standard.name().into(),
                    defines: options
                        .defines
                        .iter()
                        .map(|one| one.as_str().into())
                        .collect(),
                };
                (form, text.as_bytes(), None)
            }
            (None, Some((bytes, path))) => (file::Form::Compiled, &**bytes, path.as_deref()),
            (None, None) => (file::Form::Compiled, &[][..], None),
        };
        let contents = match path {
            _ if bytes.len() <= file::LARGEST_LIBRARY => file::Contents::Here(bytes.into()),
            Some(path) => file::Contents::File(absolute(path).to_string_lossy().into()),
            None => file::Contents::Unknown,
        };
        self.writer.write(&Event::Library(file::Library {
            id,
            form,
            hash: file::content_hash(bytes),
            contents,
        }))?;
        // One library may be most of the file.
        self.writer.flush()?;
        Ok(id)
    }

    /// A command as it is recorded; an encoder has the label of its first dispatch, since labels are set after it is made.
    fn command(&self, command: &Command, rest: &[Command]) -> Option<file::Command> {
        let number = |object: &Strong| buffer_of(object).map_or(0, Buffer::number);
        Some(match command {
            Command::Dispatch(dispatch) => {
                file::Command::Dispatch(Box::new(self.dispatch(dispatch)))
            }
            Command::Begin(is_concurrent) => {
                let own = rest.iter().skip(1);
                let mut own = own.take_while(|next| !matches!(next, Command::Begin(_)));
                let first = own.find_map(origin);
                file::Command::Encoder(file::Encoder {
                    kind: match is_concurrent {
                        true => file::EncoderKind::Concurrent,
                        false => file::EncoderKind::Serial,
                    },
                    label: first.map_or(String::new(), |one| label(&one.labels)).into(),
                    created_ns: first.map_or(0, |one| one.encoded),
                })
            }
            Command::Fill {
                buffer,
                from,
                length,
                ..
            } => file::Command::Fill {
                buffer: number(buffer),
                offset: *from as u64,
                bytes: *length as u64,
            },
            Command::Copy {
                from,
                at,
                to,
                to_at,
                length,
                ..
            } => file::Command::Copy {
                from: number(from),
                from_offset: *at as u64,
                to: number(to),
                to_offset: *to_at as u64,
                bytes: *length as u64,
            },
            Command::Barrier => file::Command::Barrier,
            Command::BarrierFor(ranges) => {
                let ranges = ranges.iter().map(|range| [range.start, range.end]);
                file::Command::BarrierFor(ranges.collect())
            }
            Command::UpdateFence(fence) => {
                file::Command::UpdateFence(fence_number(fence).unwrap_or(0))
            }
            Command::WaitForFence(fence) => {
                file::Command::WaitForFence(fence_number(fence).unwrap_or(0))
            }
            Command::Signal(event, value) => file::Command::Signal {
                event: event_number(event),
                value: *value,
            },
            Command::Wait(event, value) => file::Command::WaitForEvent {
                event: event_number(event),
                value: *value,
            },
            // Timestamps take no time; copies of texels are not modelled.
            _ => return None,
        })
    }

    fn dispatch(&self, dispatch: &Dispatch) -> file::Dispatch {
        let number = pipeline_of(&dispatch.pipeline).map(|pipeline| pipeline.record.number.0);
        let pipeline = self
            .pipelines
            .iter()
            .position(|known| Some(*known) == number);
        let bindings = dispatch.bound.iter().map(|(index, bound)| {
            let bound = match bound {
                Bound::Bytes(bytes) => file::Binding::Bytes(Arc::clone(bytes)),
                // Numbers of allocations are apart from those of buffers.
                Bound::Address(allocation, offset) => file::Binding::Buffer {
                    buffer: allocation.address(),
                    offset: *offset,
                },
                Bound::Buffer(object, offset) => file::Binding::Buffer {
                    buffer: buffer_of(object).map_or(0, Buffer::number),
                    offset: *offset as u64,
                },
            };
            (*index, bound)
        });
        let labels = &dispatch.origin.labels;
        file::Dispatch {
            pipeline: pipeline.unwrap_or(usize::MAX) as u32,
            extent: match &dispatch.extent {
                Extent::Threads(counts) => file::Extent::Threads(*counts),
                Extent::Groups(counts) => file::Extent::Groups(*counts),
                Extent::Indirect(object, offset) => file::Extent::Indirect {
                    buffer: buffer_of(object).map_or(0, Buffer::number),
                    offset: *offset as u64,
                },
                Extent::At(allocation, offset) => file::Extent::Indirect {
                    buffer: allocation.address(),
                    offset: *offset,
                },
            },
            threadgroup: dispatch.threadgroup,
            bindings: bindings.collect(),
            memory: dispatch.memory.clone(),
            label: label(labels).into(),
            group: labels.get(2..).unwrap_or_default().join("/").into(),
            encoded_ns: dispatch.origin.encoded,
        }
    }
}

/// Who encoded a command.
fn origin(command: &Command) -> Option<&crate::command::Origin> {
    match command {
        Command::Dispatch(dispatch) => Some(&dispatch.origin),
        Command::Fill { origin, .. } | Command::Copy { origin, .. } => Some(origin),
        _ => None,
    }
}

/// The label of the encoder.
fn label(labels: &[String]) -> String {
    labels.get(1).cloned().unwrap_or_default()
}

fn buffer_of(object: &Strong) -> Option<&Buffer> {
    // SAFETY: the reference keeps it.
    unsafe { BUFFER.state::<Buffer>(object.id()) }
}

fn pipeline_of(object: &Strong) -> Option<&Pipeline> {
    // SAFETY: the reference keeps it.
    unsafe { PIPELINE.state::<Pipeline>(object.id()) }
}

/// What a recording says of a pipeline beside what it is.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) number: Number,
    pub(crate) constants: Vec<assay_front::GivenConstant>,
    /// When it was made: begin and end.
    pub(crate) made_ns: [u64; 2],
}

impl Number {
    /// From 1.
    pub(crate) fn number(&self) -> u64 {
        self.0 + 1
    }
}

/// Makes the file. One that exists is left alone: of several processes each writes its own, `FILE`, `FILE.PID`.
fn create(path: &Path) -> std::io::Result<File> {
    match File::create_new(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let mut own = path.as_os_str().to_owned();
            own.push(format!(".{}", std::process::id()));
            File::create_new(PathBuf::from(own))
        }
        other => other,
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

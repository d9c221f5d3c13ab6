//! The real GPU, on a Mac.
//!
//! [`MetalDevice`] is a [`Device`] over a `Driver`, some twenty calls into Metal. Everything that can be decided without
//! a GPU is decided here and tested on any machine against a fake driver: what is refused before it is encoded, the
//! order of submissions, what an error means, what is cleaned up. The calls themselves are type-checked for macOS.
//!
//! Times are Metal's own `GPUStartTime` and `GPUEndTime` ([`Origin::Measured`]). The dispatches of a submission share one
//! serial encoder, as they do in programs that care for speed: a boundary between encoders costs some 2 µs of GPU time.
//! Only [`MetalSettings::time_dispatches`] separates them, and `assay-timing` samples counters around each.

mod driver;
mod failure;
#[cfg(test)]
mod fake;
#[cfg(any(target_os = "macos", metal_runtime))]
mod objc;
mod submission;
#[cfg(test)]
mod tests;
mod textures;

use crate::check;
use crate::dispatch::{Binding, Dispatch};
use crate::error::Error;
use crate::facts::{DeviceFacts, PipelineFacts, Storage};
use crate::ids::{BufferId, LibraryId, PipelineId, SubmissionId, Table};
use crate::message;
use crate::source::{CompileOptions, Source};
use crate::time::{Finished, Origin};
use crate::{Constant, Device, Standard};
use assay_ssa::{Argument, ArgumentAccess, Binding as Place, Space};
use driver::{Copy, Driver, RawArgument, RawKind, SourceOptions};
use std::path::Path;
use std::time::Duration;
use submission::Submission;
use textures::{Samplers, Way};

/// How long one submission may take when nothing else is said. The system itself stops a command buffer that
/// keeps the GPU for several seconds; this is for the case that it does not answer at all.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// How Metal's messages name a text that came without a file.
const TEXT_PREFIX: &str = "program_source:";

/// Metal's limit of bytes bound without a buffer.
const MAX_INLINE_BYTES: u32 = 4096;

/// What a Metal device may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetalSettings {
    /// How long one submission may take; 30 s when not said.
    pub timeout: Option<Duration>,
    /// Time every dispatch alone, where the GPU samples counters. Apple's GPUs do so where encoders begin and end only, so
    /// every dispatch gets an encoder of its own, and the total grows by some microseconds for each.
    pub time_dispatches: bool,
}

/// Opens the system's GPU. Without a Mac, or on one without a GPU, that is [`Error::NoDevice`].
///
/// ```
/// use assay_device::{Error, MetalSettings, open_metal};
/// match open_metal(MetalSettings::default()) {
///     Ok(device) => println!("{}", device.facts().name),
///     Err(Error::NoDevice(why)) => println!("{why}"),
///     Err(other) => return Err(other),
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn open_metal(settings: MetalSettings) -> Result<Box<dyn GpuDevice>, Error> {
    #[cfg(any(target_os = "macos", metal_runtime))]
    {
        let driver = objc::Objc::system(settings.time_dispatches).ok_or_else(|| {
            Error::NoDevice(
                "this Mac offers no Metal GPU to this process: a virtual machine without one, or a sandbox that hides it"
                    .to_owned(),
            )
        })?;
        Ok(Box::new(MetalDevice::new(driver, settings)))
    }
    #[cfg(not(any(target_os = "macos", metal_runtime)))]
    {
        let _ = settings;
        Err(Error::NoDevice(
            "a Metal GPU needs a Mac; the CPU device runs kernels anywhere".to_owned(),
        ))
    }
}

/// The default GPU or, where the system names none, the first of its list: each is missing in some sessions without a
/// screen while the other is there.
#[cfg(any(target_os = "macos", metal_runtime, test))]
fn first_device<D>(default: Option<D>, all: impl FnOnce() -> Vec<D>) -> Option<D> {
    default.or_else(|| all().into_iter().next())
}

/// What a GPU can do beyond a [`Device`].
pub trait GpuDevice: Device {
    /// Runs dispatches while everything the GPU does is written to a `.gputrace` folder, for Xcode and for
    /// `assay trace`. The process needs `MTL_CAPTURE_ENABLED=1`.
    fn capture(&mut self, path: &Path, dispatches: Vec<Dispatch>) -> Result<Finished, Error>;

    /// Compiles a kernel to this GPU's machine code and writes it as a binary archive, for `assay profile`.
    fn archive(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
        path: &Path,
    ) -> Result<(), Error>;

    /// How dispatches are timed one by one, or why they are not.
    fn dispatch_timing(&self) -> Result<&'static str, String>;
}

/// A [`Device`] over Metal.
pub(crate) struct MetalDevice<D: Driver> {
    driver: D,
    facts: DeviceFacts,
    timeout: Duration,
    libraries: Table<LibraryId, D::Library>,
    pipelines: Table<PipelineId, (D::Pipeline, PipelineFacts)>,
    buffers: Table<BufferId, Memory<D::Buffer>>,
    submissions: Table<SubmissionId, Submission>,
    samplers: Samplers<D>,
    /// The submission made last and not waited for yet: Metal's queue keeps order, so when it is done all are.
    last: Option<SubmissionId>,
}

/// A buffer with what Metal does not remember.
struct Memory<Buffer> {
    buffer: Buffer,
    bytes: u64,
    storage: Storage,
}

impl<D: Driver> std::fmt::Debug for MetalDevice<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetalDevice")
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl<D: Driver> MetalDevice<D> {
    pub(crate) fn new(driver: D, settings: MetalSettings) -> Self {
        let gpu = driver.facts();
        Self {
            facts: DeviceFacts {
                name: gpu.name,
                origin: Origin::Measured,
                execution_width: 32,
                max_threadgroup: gpu.max_threadgroup,
                max_threadgroup_memory: gpu.max_threadgroup_memory,
                max_inline_bytes: MAX_INLINE_BYTES,
                max_buffer: gpu.max_buffer,
            },
            driver,
            timeout: settings.timeout.unwrap_or(DEFAULT_TIMEOUT),
            libraries: Table::default(),
            pipelines: Table::default(),
            buffers: Table::default(),
            submissions: Table::default(),
            samplers: Samplers::default(),
            last: None,
        }
    }

    /// Checks a dispatch against the device, its kernel and its buffers.
    fn check(&self, dispatch: &Dispatch) -> Result<(), Error> {
        let (_, kernel) = self.pipelines.get(dispatch.pipeline)?;
        check::threads(dispatch.extent, dispatch.threadgroup, &self.facts, kernel)?;
        check::threadgroup_memory(dispatch.threadgroup_memory(), &self.facts, kernel)?;
        let used = kernel.arguments.iter().filter(|argument| !argument.unused);
        check::required(
            |place| dispatch.is_bound(place),
            kernel,
            used.map(|argument| argument.binding),
        )?;
        for (index, binding) in &dispatch.bindings {
            match binding {
                Binding::Buffer { buffer, offset } => {
                    let size = self.buffers.get(*buffer)?.bytes;
                    check::binding(kernel, *index, *offset, size)?;
                }
                Binding::Bytes(bytes) if bytes.len() > MAX_INLINE_BYTES as usize => {
                    return Err(Error::Binding {
                        function: kernel.function.clone(),
                        index: *index,
                        why: format!(
                            "{} bytes are more than the {MAX_INLINE_BYTES} Metal takes without a buffer",
                            bytes.len()
                        ),
                    });
                }
                Binding::Bytes(bytes) => check::binding(kernel, *index, 0, bytes.len() as u64)?,
                Binding::ThreadgroupMemory(_) => {}
                Binding::Texture { .. } | Binding::Sampler(_) => {
                    self.check_resource(kernel, *index, binding)?;
                }
            }
        }
        self.check_members(kernel, dispatch)
    }

    /// Waits until everything submitted so far is done. Failures stay with their submissions.
    fn settle(&mut self) -> Result<(), Error> {
        if let Some(last) = self.last {
            let timeout = self.timeout;
            self.submissions.get_mut(last)?.settle(timeout)?;
        }
        Ok(())
    }

    /// Copies between buffers on the GPU and waits for it.
    fn copy(&self, copy: &Copy<'_, D::Buffer>) -> Result<(), Error> {
        let mut commands = self.commands("assay copy")?;
        self.driver
            .encode_copy(&mut commands, copy)
            .map_err(Error::NoDevice)?;
        let mut submission = Submission::commit(&self.driver, commands, Vec::new());
        submission.settle(self.timeout)?;
        submission.result(self.timeout).map(|_| ())
    }

    fn commands(&self, label: &str) -> Result<D::Commands, Error> {
        let commands = self.driver.commands(label);
        commands.ok_or_else(|| Error::NoDevice("Metal gave no command buffer".to_owned()))
    }

    /// A shared buffer to pass bytes to and from private ones.
    fn staging(&self, bytes: u64) -> Result<D::Buffer, Error> {
        let made = self.driver.buffer(bytes, Storage::Shared);
        made.ok_or(Error::OutOfMemory {
            needed: bytes,
            limit: self.facts.max_buffer,
        })
    }
}

/// Refuses a range outside a buffer.
fn inside(offset: u64, length: usize, size: u64) -> Result<(), Error> {
    let length = length as u64;
    match offset.checked_add(length) {
        Some(end) if end <= size => Ok(()),
        _ => Err(Error::OutsideBuffer {
            offset,
            length,
            size,
        }),
    }
}

fn argument(raw: RawArgument) -> Argument {
    let binding = match raw.kind {
        RawKind::Buffer => Place::Buffer(raw.index),
        RawKind::ThreadgroupMemory => Place::Threadgroup(raw.index),
        RawKind::Texture => Place::Texture(raw.index),
        RawKind::Sampler => Place::Sampler(raw.index),
        RawKind::Other => Place::Other,
    };
    Argument {
        space: (raw.kind == RawKind::Buffer).then_some(Space::Device),
        access: match raw.writes {
            true => ArgumentAccess::ReadWrite,
            false => ArgumentAccess::Read,
        },
        size: raw.size,
        align: raw.align,
        unused: !raw.used,
        ..Argument::new(&raw.name, binding)
    }
}

impl<D: Driver> Device for MetalDevice<D> {
    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn compile(
        &mut self,
        source: Source<'_>,
        options: &CompileOptions,
    ) -> Result<LibraryId, Error> {
        let others = [
            &options.include_folders,
            &options.include_files,
            &options.link_files,
        ];
        if others.iter().any(|paths| !paths.is_empty()) {
            return Err(Error::Compiler(
                "Metal compiles one text and searches no folders or files; build a metallib with `xcrun metal -I …` and load that"
                    .to_owned(),
            ));
        }
        // Without a wish Metal takes its newest language, which knows everything that a kernel may use.
        let wish = (options.standard != Standard::default()).then(|| options.standard.version());
        let given = SourceOptions {
            fast_math: options.fast_math,
            version: wish.map(|version| (version / 100, version % 100 / 10)),
            macros: options.defines.iter().map(|text| define(text)).collect(),
        };
        let library = self
            .driver
            .compile(source.text, &given)
            .map_err(|words| message::compile_error(&words, TEXT_PREFIX, source))?;
        self.libraries.add(library)
    }

    fn load(&mut self, bytes: Vec<u8>) -> Result<LibraryId, Error> {
        if !bytes.starts_with(b"MTLB") {
            return Err(Error::Library(
                "Metal loads metallibs, which begin with MTLB; this does not".to_owned(),
            ));
        }
        let library = self.driver.load(&bytes).map_err(Error::Library)?;
        self.libraries.add(library)
    }

    fn functions(&self, library: LibraryId) -> Result<Vec<String>, Error> {
        Ok(self.driver.functions(self.libraries.get(library)?))
    }

    fn pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
    ) -> Result<PipelineId, Error> {
        let code = self.libraries.get(library)?;
        let names = self.driver.functions(code);
        if !names.iter().any(|name| name == function) {
            return Err(Error::no_function(function, &names));
        }
        let (pipeline, raw) = self
            .driver
            .pipeline(code, function, constants)
            .map_err(|why| Error::Pipeline {
                function: function.to_owned(),
                why,
            })?;
        let facts = PipelineFacts {
            function: function.to_owned(),
            max_threads: raw.max_threads,
            threadgroup_memory: raw.threadgroup_memory,
            execution_width: raw.execution_width,
            arguments: raw.arguments.into_iter().map(argument).collect(),
        };
        self.pipelines.add((pipeline, facts))
    }

    fn pipeline_facts(&self, pipeline: PipelineId) -> Result<&PipelineFacts, Error> {
        Ok(&self.pipelines.get(pipeline)?.1)
    }

    fn buffer(&mut self, bytes: u64, storage: Storage) -> Result<BufferId, Error> {
        let refused = Error::OutOfMemory {
            needed: bytes,
            limit: self.facts.max_buffer,
        };
        if bytes > self.facts.max_buffer {
            return Err(refused);
        }
        // Metal has no buffers without bytes.
        let buffer = self.driver.buffer(bytes.max(1), storage).ok_or(refused)?;
        self.buffers.add(Memory {
            buffer,
            bytes,
            storage,
        })
    }

    fn buffer_size(&self, buffer: BufferId) -> Result<u64, Error> {
        Ok(self.buffers.get(buffer)?.bytes)
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let memory = self.buffers.get(buffer)?;
        let storage = memory.storage;
        inside(offset, bytes.len(), memory.bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        // What was submitted before must not see the new bytes.
        self.settle()?;
        if storage == Storage::Shared {
            let memory = self.buffers.get_mut(buffer)?;
            self.driver.write(&mut memory.buffer, offset, bytes);
            return Ok(());
        }
        let mut staging = self.staging(bytes.len() as u64)?;
        self.driver.write(&mut staging, 0, bytes);
        self.copy(&Copy {
            from: &staging,
            from_offset: 0,
            to: &self.buffers.get(buffer)?.buffer,
            to_offset: offset,
            length: bytes.len() as u64,
        })
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let memory = self.buffers.get(buffer)?;
        inside(offset, bytes.len(), memory.bytes)?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.settle()?;
        let memory = self.buffers.get(buffer)?;
        if memory.storage == Storage::Shared {
            self.driver.read(&memory.buffer, offset, bytes);
            return Ok(());
        }
        let staging = self.staging(bytes.len() as u64)?;
        self.copy(&Copy {
            from: &memory.buffer,
            from_offset: offset,
            to: &staging,
            to_offset: 0,
            length: bytes.len() as u64,
        })?;
        self.driver.read(&staging, 0, bytes);
        Ok(())
    }

    fn release(&mut self, buffer: BufferId) -> Result<(), Error> {
        // Metal keeps it alive as long as the GPU works with it.
        self.buffers.take(buffer).map(|_| ())
    }

    fn submit(&mut self, mut dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error> {
        for dispatch in &dispatches {
            self.check(dispatch)?;
        }
        let made = self.resources(&dispatches)?;
        for dispatch in &mut dispatches {
            self.fill_argument_buffers(dispatch, &made)?;
        }
        let raw = dispatches.iter().map(|dispatch| self.raw(dispatch, &made));
        let raw: Vec<_> = raw.collect::<Result<_, Error>>()?;
        let names: Vec<String> = raw.iter().map(|one| one.label.to_owned()).collect();
        let label = names.first().map_or("assay", String::as_str);
        let before = self.copy_texels(&made, Way::IntoTextures)?;
        let mut commands = self.commands(label)?;
        for dispatch in &raw {
            self.driver
                .encode(&mut commands, dispatch)
                .map_err(|why| Error::Pipeline {
                    function: dispatch.label.to_owned(),
                    why,
                })?;
        }
        let after = self.copy_texels(&made, Way::IntoBuffers)?;
        drop(raw);
        // The queue keeps their order. Texels are copied outside what is timed.
        let copy = |commands| Submission::commit(&self.driver, commands, Vec::new());
        let before = before.map(copy);
        let mut submission = Submission::commit(&self.driver, commands, names);
        submission.around = before.into_iter().chain(after.map(copy)).collect();
        let id = self.submissions.add(submission)?;
        self.last = Some(id);
        Ok(id)
    }

    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error> {
        if self.last == Some(submission) {
            self.last = None;
        }
        self.submissions.take(submission)?.result(self.timeout)
    }
}

impl<D: Driver> GpuDevice for MetalDevice<D> {
    fn capture(&mut self, path: &Path, dispatches: Vec<Dispatch>) -> Result<Finished, Error> {
        if path.exists() {
            return Err(Error::Capture(format!(
                "{} exists; a capture makes a new folder",
                path.display()
            )));
        }
        // A capture that is stopped early would miss what still runs.
        self.settle()?;
        self.driver.start_capture(path).map_err(Error::Capture)?;
        let finished = self.run(dispatches);
        self.driver.stop_capture();
        finished
    }

    fn archive(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
        path: &Path,
    ) -> Result<(), Error> {
        let code = self.libraries.get(library)?;
        let names = self.driver.functions(code);
        if !names.iter().any(|name| name == function) {
            return Err(Error::no_function(function, &names));
        }
        self.driver
            .archive(code, function, constants, path)
            .map_err(|why| Error::Pipeline {
                function: function.to_owned(),
                why: format!(
                    "its machine code could not be written to {}: {why}",
                    path.display()
                ),
            })
    }

    fn dispatch_timing(&self) -> Result<&'static str, String> {
        self.driver.facts().dispatch_timing
    }
}

/// `NAME=VALUE`; a macro without value is 1, as compilers have it.
fn define(text: &str) -> (String, String) {
    match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (text.to_owned(), "1".to_owned()),
    }
}

/// A device over the fake driver, for tests of what is built on devices.
#[cfg(test)]
pub(crate) fn test_gpu() -> MetalDevice<fake::Fake> {
    MetalDevice::new(
        fake::Fake::new(fake::Trouble::None),
        MetalSettings::default(),
    )
}

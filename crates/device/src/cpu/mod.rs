//! The CPU as a device.

mod kernel;
mod library;
mod run;
#[cfg(test)]
mod tests;
mod watch;

use crate::dispatch::Dispatch;
use crate::error::Error;
use crate::facts::{DeviceFacts, PipelineFacts, Storage};
use crate::ids::{BufferId, LibraryId, PipelineId, SubmissionId, Table};
use crate::source::{CompileOptions, Source};
use crate::time::{Finished, Origin};
use crate::{Constant, Device, Report};
use assay_exec::{Buffer, Program};
use assay_front::{Checks, Compiler};
pub use kernel::{CpuKernel, Lent};
use library::Library;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

/// What a [`CpuDevice`] works with. Nothing is looked up: whoever makes one says what there is.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The compiler for source, usually an [`assay_front::Clang`]; without it only compiled code can be loaded.
    pub compiler: Option<Arc<dyn Compiler>>,
    /// Threads of the CPU to use; all of them when not said.
    pub threads: Option<usize>,
    /// How long one submission may take.
    pub timeout: Option<Duration>,
    /// Operations a simdgroup may run in loops; simdgroups that run in step count as one.
    pub max_steps: Option<u64>,
    /// Bytes of memory for buffers, and again for what a dispatch works with; 8 GiB when not said.
    pub max_memory: Option<u64>,
    /// Set it to stop what runs.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Counts the threadgroups that have ended.
    pub finished: Option<Arc<AtomicU64>>,
    /// Make programs for [`CpuDevice::check_run`]: slower, with everything in them that can be checked.
    pub checks: Option<Checks>,
    /// What makes machine code of kernels whose dispatches take long, in the background; without it all are interpreted.
    #[cfg(feature = "native")]
    pub native: Option<Arc<assay_native::Compiler>>,
}

impl Settings {
    /// Returns true if programs are to keep what machine code is made of.
    fn wants_native(&self) -> bool {
        #[cfg(feature = "native")]
        return self.native.is_some() && self.checks.is_none();
        #[cfg(not(feature = "native"))]
        false
    }
}

const DEFAULT_MEMORY: u64 = 8 << 30;

/// Host time that a kernel's dispatches must have taken before machine code is made for it: about what that costs.
#[cfg(feature = "native")]
const WORTH: std::time::Duration = std::time::Duration::from_millis(100);

/// Runs kernels on the CPU, 32 threads of a simdgroup in lockstep.
///
/// Its times are [`Origin::Host`]: how long this CPU took, which says nothing about a GPU. A submission runs
/// while [`Device::submit`] is called; [`Device::wait`] only tells how it went.
#[derive(Debug)]
pub struct CpuDevice {
    settings: Settings,
    facts: DeviceFacts,
    pool: Option<rayon::ThreadPool>,
    libraries: Table<LibraryId, Library>,
    pipelines: Table<PipelineId, Pipeline>,
    buffers: Table<BufferId, Buffer>,
    buffer_bytes: u64,
    submissions: Table<SubmissionId, Result<Finished, Error>>,
    /// Threadgroups run from the last to the first.
    backwards: bool,
}

#[derive(Debug)]
struct Pipeline {
    program: Program,
    facts: PipelineFacts,
}

impl CpuDevice {
    /// A device with its own settings.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let pool = match settings.threads {
            None => None,
            Some(threads) => {
                let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1));
                let pool = builder.build();
                Some(pool.map_err(|error| Error::Grid(format!("no threads: {error}")))?)
            }
        };
        let facts = device_facts(settings.max_memory.unwrap_or(DEFAULT_MEMORY));
        Ok(Self {
            settings,
            facts,
            pool,
            libraries: Table::default(),
            pipelines: Table::default(),
            buffers: Table::default(),
            buffer_bytes: 0,
            submissions: Table::default(),
            backwards: false,
        })
    }

    /// Takes kernels whose file was opened already; [`Device::load`] opens bytes.
    pub fn add(&mut self, library: assay_front::Library) -> Result<LibraryId, Error> {
        self.libraries.add(Library::new(library))
    }

    /// As [`Device::pipeline`], with a change to the optimised program: what a test of tests runs in place of the kernel.
    pub fn edited_pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
        edit: &mut dyn FnMut(&mut assay_ssa::Module),
    ) -> Result<PipelineId, Error> {
        let library = self.libraries.get(library)?;
        let program = library.program(
            function,
            constants,
            self.settings.checks,
            self.settings.wants_native(),
            edit,
        )?;
        #[cfg(feature = "native")]
        if let Some(compiler) = &self.settings.native {
            program.make_native_later(Arc::clone(compiler), WORTH);
        }
        let facts = pipeline_facts(&program, &self.facts);
        self.pipelines.add(Pipeline { program, facts })
    }

    /// The program behind a pipeline, for what only the executor can do.
    pub fn program(&self, pipeline: PipelineId) -> Result<&Program, Error> {
        Ok(&self.pipelines.get(pipeline)?.program)
    }

    fn max_memory(&self) -> u64 {
        self.settings.max_memory.unwrap_or(DEFAULT_MEMORY)
    }
}

impl Device for CpuDevice {
    fn sanitize(&mut self, dispatch: &Dispatch) -> Result<Option<Vec<Report>>, Error> {
        self.check_run(dispatch).map(Some)
    }

    #[cfg(feature = "native")]
    fn settle(&mut self, dispatches: &[Dispatch]) -> Result<(), Error> {
        for dispatch in dispatches {
            let pipeline = self.pipelines.get(dispatch.pipeline)?;
            pipeline.program.settle_native(dispatch.threadgroup);
        }
        Ok(())
    }

    fn run_backwards(&mut self, dispatches: Vec<Dispatch>) -> Option<Result<Finished, Error>> {
        let meets = |dispatch: &Dispatch| {
            let pipeline = self.pipelines.get(dispatch.pipeline);
            pipeline.is_ok_and(|pipeline| pipeline.program.may_meet())
        };
        if !dispatches.iter().any(meets) {
            return None;
        }
        self.backwards = true;
        let finished = self.run(dispatches);
        self.backwards = false;
        Some(finished)
    }

    fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    fn compile(
        &mut self,
        source: Source<'_>,
        options: &CompileOptions,
    ) -> Result<LibraryId, Error> {
        let compiler = self.settings.compiler.as_ref().ok_or_else(|| {
            Error::Compiler("this device was given no compiler for source".to_owned())
        })?;
        let options = CompileOptions {
            checked: self.settings.checks.is_some(),
            ..options.clone()
        };
        let library = Library::compile(source, &options, &**compiler)?;
        self.libraries.add(library)
    }

    fn load(&mut self, bytes: Vec<u8>) -> Result<LibraryId, Error> {
        self.libraries.add(Library::open(bytes)?)
    }

    fn functions(&self, library: LibraryId) -> Result<Vec<String>, Error> {
        Ok(self.libraries.get(library)?.names().to_vec())
    }

    fn pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
    ) -> Result<PipelineId, Error> {
        self.edited_pipeline(library, function, constants, &mut |_| {})
    }

    fn pipeline_facts(&self, pipeline: PipelineId) -> Result<&PipelineFacts, Error> {
        Ok(&self.pipelines.get(pipeline)?.facts)
    }

    fn buffer(&mut self, bytes: u64, _storage: Storage) -> Result<BufferId, Error> {
        let limit = self.max_memory();
        let needed = self.buffer_bytes.saturating_add(bytes);
        let size = usize::try_from(bytes).ok().filter(|_| needed <= limit);
        let size = size.ok_or(Error::OutOfMemory { needed, limit })?;
        let id = self.buffers.add(Buffer::zeroed(size))?;
        self.buffer_bytes = needed;
        Ok(id)
    }

    fn buffer_size(&self, buffer: BufferId) -> Result<u64, Error> {
        Ok(self.buffers.get(buffer)?.len() as u64)
    }

    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let buffer = self.buffers.get_mut(buffer)?;
        let place = range(offset, bytes.len(), buffer.len())?;
        if let Some(target) = buffer.bytes_mut().get_mut(place) {
            target.copy_from_slice(bytes);
        }
        Ok(())
    }

    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let buffer = self.buffers.get(buffer)?;
        let place = range(offset, bytes.len(), buffer.len())?;
        if let Some(found) = buffer.bytes().get(place) {
            bytes.copy_from_slice(found);
        }
        Ok(())
    }

    fn release(&mut self, buffer: BufferId) -> Result<(), Error> {
        let freed = self.buffers.take(buffer)?;
        self.buffer_bytes = self.buffer_bytes.saturating_sub(freed.len() as u64);
        Ok(())
    }

    fn submit(&mut self, dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error> {
        let jobs = dispatches.iter().map(|dispatch| self.check(dispatch));
        let jobs = jobs.collect::<Result<Vec<_>, _>>()?;
        let outcome = self.run_all(&jobs);
        self.submissions.add(outcome)
    }

    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error> {
        self.submissions.take(submission)?
    }
}

/// What the CPU is, with so much memory for buffers.
fn device_facts(max_buffer: u64) -> DeviceFacts {
    DeviceFacts {
        name: "CPU".to_owned(),
        origin: Origin::Host,
        execution_width: 32,
        max_threadgroup: [1024; 3],
        max_threadgroup_memory: assay_chip::CoreFacts::get().threadgroup_limit,
        max_inline_bytes: 4 << 10,
        max_buffer,
    }
}

fn pipeline_facts(program: &Program, device: &DeviceFacts) -> PipelineFacts {
    let declared = program.max_threads().unwrap_or(u32::MAX);
    PipelineFacts {
        function: program.name().to_owned(),
        max_threads: declared.min(device.max_threadgroup[0]),
        threadgroup_memory: program.static_threadgroup_memory(),
        execution_width: device.execution_width,
        arguments: program.arguments().to_vec(),
    }
}

/// The range of an access by the host, if it is inside.
fn range(offset: u64, length: usize, size: usize) -> Result<std::ops::Range<usize>, Error> {
    let start = usize::try_from(offset).ok();
    let end = start.and_then(|start| start.checked_add(length));
    match (start, end) {
        (Some(start), Some(end)) if end <= size => Ok(start..end),
        _ => Err(Error::OutsideBuffer {
            offset,
            length: length as u64,
            size: size as u64,
        }),
    }
}

//! One interface to whatever runs Metal kernels.
//!
//! A benchmark or a test is written once, against [`Device`], and runs on whatever implements
//! it. The CPU does ([`CpuDevice`]): it compiles with a clang it is given and runs kernels through
//! `assay-exec`. What a device cannot know it does not say: [`PipelineFacts`] are those of the
//! device that answers, and every [`Time`] carries its [`Origin`].
//!
//! Libraries, pipelines, buffers and submissions are small ids. An id is never used again after
//! what it names was released, and an id nobody gave out is an error like any other.
//!
//! Everything that Metal would refuse (or silently get wrong) is checked before a kernel starts: the size of
//! threadgroups, threadgroup memory, bindings that are missing, too small or misaligned.
//!
//! ```
//! use assay_device::{Binding, CpuDevice, Device, Dispatch, Error, Extent, Settings, Storage};
//!
//! # let bitcode = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../air/tests/fixtures/clang-19.bc"));
//! let mut device = CpuDevice::new(Settings::default())?;
//! let library = device.load(bitcode.to_vec())?; // or `device.compile(source, &options)?`
//! let pipeline = device.pipeline(library, "saxpy", &[])?;
//! assert_eq!(device.pipeline_facts(pipeline)?.max_threads, 256);
//!
//! let x = device.buffer(16, Storage::Shared)?;
//! let y = device.buffer(16, Storage::Shared)?;
//! device.write(y, 0, &[1.0f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat())?;
//! let dispatch = Dispatch::new(pipeline, Extent::Threads([4, 1, 1]), [4, 1, 1])
//!     .bind(0, Binding::Buffer { buffer: x, offset: 0 })
//!     .bind(1, Binding::Buffer { buffer: y, offset: 0 })
//!     .bind(2, Binding::Bytes(4i32.to_le_bytes().to_vec()));
//! let finished = device.run(vec![dispatch])?;
//!
//! println!("{}", finished.time()?); // 0.012 ms (host)
//! assert_eq!(device.contents(y)?[..4], 4.0f32.to_le_bytes());
//! # Ok::<(), Error>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod apple;
mod check;
mod cpu;
mod dispatch;
mod error;
mod facts;
mod forward;
mod ids;
mod machine;
mod message;
#[cfg_attr(
    not(target_os = "macos"),
    allow(
        dead_code,
        reason = "without Metal only tests use this, and not all of it"
    )
)]
mod metal;
mod source;
mod time;

pub use assay_exec::{Counts, Location, Party, Report, ReportKind, Sample};
pub use assay_front::{Checks, ConstantKey, GivenConstant as Constant};
pub use assay_launch::Extent;
pub use assay_msl::{Diagnostic, Note, Place, Standard};
pub use assay_ssa::{Argument, Binding as ArgumentBinding};
pub use cpu::{CpuDevice, CpuKernel, Lent, Settings};
pub use dispatch::{Binding, Dispatch, Member};
pub use error::{Error, Fault, FaultKind};
pub use facts::{DeviceFacts, PipelineFacts, Storage};
pub use ids::{BufferId, LibraryId, PipelineId, SubmissionId};
pub use machine::{Machine, MachineProbe};
pub use metal::{GpuDevice, MetalSettings, open_metal};
pub use source::{CompileOptions, Source};
pub use time::{Finished, Origin, Time};

/// Something that compiles and runs Metal kernels.
pub trait Device: std::fmt::Debug {
    /// What the device is and how much it takes.
    fn facts(&self) -> &DeviceFacts;

    /// Compiles Metal source. Errors in it are [`Error::Source`], with their places.
    fn compile(&mut self, source: Source<'_>, options: &CompileOptions)
    -> Result<LibraryId, Error>;

    /// Loads a metallib, or bitcode where the device takes it.
    fn load(&mut self, bytes: Vec<u8>) -> Result<LibraryId, Error>;

    /// The kernels of a library, in its order.
    fn functions(&self, library: LibraryId) -> Result<Vec<String>, Error>;

    /// Makes a kernel ready to run, with values for its function constants. What the device cannot run is
    /// refused here, by name ([`Error::Unsupported`]).
    fn pipeline(
        &mut self,
        library: LibraryId,
        function: &str,
        constants: &[Constant],
    ) -> Result<PipelineId, Error>;

    /// What the device knows about a kernel.
    fn pipeline_facts(&self, pipeline: PipelineId) -> Result<&PipelineFacts, Error>;

    /// A buffer of zeros.
    fn buffer(&mut self, bytes: u64, storage: Storage) -> Result<BufferId, Error>;

    /// The size of a buffer in bytes.
    fn buffer_size(&self, buffer: BufferId) -> Result<u64, Error>;

    /// Writes into a buffer. A private one is written through a copy on the device.
    fn write(&mut self, buffer: BufferId, offset: u64, bytes: &[u8]) -> Result<(), Error>;

    /// Reads from a buffer, after everything submitted before has finished.
    fn read(&mut self, buffer: BufferId, offset: u64, bytes: &mut [u8]) -> Result<(), Error>;

    /// Frees a buffer; its id names nothing from then on.
    fn release(&mut self, buffer: BufferId) -> Result<(), Error>;

    /// Starts dispatches, in order, each after the one before. All of them are checked before the first runs: an
    /// error from here means that nothing ran. A kernel's own failure is told by [`Device::wait`].
    fn submit(&mut self, dispatches: Vec<Dispatch>) -> Result<SubmissionId, Error>;

    /// Waits until a submission has finished, and says how long it took or what went wrong. Each is waited for once.
    fn wait(&mut self, submission: SubmissionId) -> Result<Finished, Error>;

    /// Starts dispatches and waits for them.
    fn run(&mut self, dispatches: Vec<Dispatch>) -> Result<Finished, Error> {
        let submission = self.submit(dispatches)?;
        self.wait(submission)
    }

    /// Makes sure that what runs these dispatches does not change while they are timed: code that a device makes while kernels
    /// already run is made now.
    fn settle(&mut self, _dispatches: &[Dispatch]) -> Result<(), Error> {
        Ok(())
    }

    /// Runs a dispatch slowly and says what it did that it must not, where the device can watch a kernel: the CPU can, a
    /// GPU cannot. Results are in the buffers afterwards.
    fn sanitize(&mut self, _dispatch: &Dispatch) -> Result<Option<Vec<Report>>, Error> {
        Ok(None)
    }

    /// As [`Device::run`], with the threadgroups of each dispatch from the last to the first, where the device can choose and a
    /// kernel has atomics, by which threadgroups meet: none where the order makes no difference or is the device's own.
    fn run_backwards(&mut self, _dispatches: Vec<Dispatch>) -> Option<Result<Finished, Error>> {
        None
    }

    /// All bytes of a buffer.
    fn contents(&mut self, buffer: BufferId) -> Result<Vec<u8>, Error> {
        let size = self.buffer_size(buffer)?;
        let size = usize::try_from(size).map_err(|_| Error::OutOfMemory {
            needed: size,
            limit: usize::MAX as u64,
        })?;
        let mut bytes = vec![0; size];
        self.read(buffer, 0, &mut bytes)?;
        Ok(bytes)
    }
}

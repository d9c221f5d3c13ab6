//! A kernel by itself, run on memory that its caller lends for the call.

use super::library::Library;
use super::run::{Stop, failure};
use super::{DEFAULT_MEMORY, device_facts, pipeline_facts};
use crate::check;
use crate::error::Error;
use crate::facts::{DeviceFacts, PipelineFacts};
use crate::{Constant, Report};
use assay_exec::{Bindings, Buffer, Counts, Grid, Limits, Program, RunError, Sample};
use assay_front::{Checks, Form, OpenConstants, Request};
use assay_launch::Extent;
use assay_ssa::Binding as Place;
use std::sync::atomic::AtomicBool;

/// A kernel ready to run on the CPU, without a device's tables of buffers: it is shared by threads, and a call costs
/// little more than the run itself.
///
/// ```
/// use assay_device::{CpuKernel, Error, Extent, Lent};
/// use assay_exec::Buffer;
/// # let bitcode = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../air/tests/fixtures/clang-19.bc"));
/// let library = assay_front::Library::of_bitcode(bitcode).expect("bitcode");
/// let kernel = CpuKernel::new(&library, "saxpy", &[], None)?;
/// let mut y = [1.0f32, 2.0, 3.0, 4.0];
/// // SAFETY: the array outlives the call, and nothing else accesses it meanwhile.
/// let lent = unsafe { Buffer::lent(y.as_mut_ptr().cast(), 16, true) };
/// let bound = vec![
///     (0, Lent::Memory(Buffer::zeroed(16))),
///     (1, Lent::Memory(lent)),
///     (2, Lent::Memory(Buffer::from_slice(&[4i32]))),
/// ];
/// kernel.run(Extent::Threads([4, 1, 1]), [4, 1, 1], bound, None)?;
/// assert_eq!(y[0], 4.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct CpuKernel {
    program: Program,
    facts: PipelineFacts,
    device: DeviceFacts,
}

/// What an index is given for one call.
#[derive(Debug)]
pub enum Lent {
    /// Memory, the kernel's own or lent ([`Buffer::lent`]).
    Memory(Buffer),
    /// The memory of another index.
    Same(u32),
    /// Threadgroup memory of so many bytes. Its indices are counted apart from those of buffers.
    ThreadgroupMemory(u32),
}

impl CpuKernel {
    /// Makes a kernel of a library ready, for [`CpuKernel::check`] with the checks it is to have.
    pub fn new(
        library: &assay_front::Library,
        function: &str,
        constants: &[Constant],
        checks: Option<Checks>,
    ) -> Result<Self, Error> {
        let library = Library::new(library.clone());
        let program = library.program(function, constants, checks, false, &mut |_| {})?;
        let device = device_facts(DEFAULT_MEMORY);
        Ok(Self {
            facts: pipeline_facts(&program, &device),
            program,
            device,
        })
    }

    /// Makes a kernel ready as Metal does: values for function constants that the library does not have are ignored, and those
    /// without a value are zero. Gives the names of the latter. With `native` it can become machine code
    /// (`make_native_later`).
    pub fn forgiving(
        library: &assay_front::Library,
        function: &str,
        constants: &[Constant],
        checks: Option<Checks>,
        native: bool,
    ) -> Result<(Self, Vec<String>), Error> {
        let kernel = library.kernel(function)?;
        let request = Request {
            constants,
            open: OpenConstants::Zero,
            form: if checks.is_some() {
                Form::AsRead
            } else {
                Form::Optimised
            },
        };
        let made = kernel.program_as(&request)?;
        let module = match checks {
            None => made.module,
            Some(checks) => {
                let known = assay_front::constants(&made.module);
                let is_known = |given: &&Constant| {
                    known.clone().any(|(index, name)| given.key.is(index, name))
                };
                let given: Vec<Constant> = constants.iter().filter(is_known).cloned().collect();
                kernel.checked_program(&given, checks)?
            }
        };
        #[cfg(not(feature = "native"))]
        let _ = native;
        let options = assay_exec::Options {
            guards: checks.is_some(),
            pedantic: checks.is_some_and(|checks| checks.pedantic),
            #[cfg(feature = "native")]
            native,
            ..assay_exec::Options::default()
        };
        let program = Program::compile(&module, function, &options)?;
        let device = device_facts(DEFAULT_MEMORY);
        let facts = pipeline_facts(&program, &device);
        let kernel = Self {
            program,
            facts,
            device,
        };
        Ok((kernel, made.assumed))
    }

    /// Has dispatches that take long go on as machine code, made by a compiler in the background.
    #[cfg(feature = "native")]
    pub fn make_native_later(&self, compiler: std::sync::Arc<assay_native::Compiler>) {
        self.program.make_native_later(compiler, super::WORTH);
    }

    /// What is known about the kernel.
    pub fn facts(&self) -> &PipelineFacts {
        &self.facts
    }

    /// The program, for what only the executor can do.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Runs the kernel. Setting `cancel` stops it with [`Error::Cancelled`].
    pub fn run(
        &self,
        extent: Extent,
        threadgroup: [u32; 3],
        bound: Vec<(u32, Lent)>,
        cancel: Option<&AtomicBool>,
    ) -> Result<(), Error> {
        let how = |grid: &Grid, bindings: &mut Bindings, limits: &Limits<'_>| {
            self.program.run(grid, bindings, limits)
        };
        self.call(extent, threadgroup, bound, cancel, how)
            .map(|_| ())
    }

    /// Runs the kernel slowly and in order, and reports what it did that it must not.
    pub fn check(
        &self,
        extent: Extent,
        threadgroup: [u32; 3],
        bound: Vec<(u32, Lent)>,
        cancel: Option<&AtomicBool>,
    ) -> Result<Vec<Report>, Error> {
        let how = |grid: &Grid, bindings: &mut Bindings, limits: &Limits<'_>| {
            self.program.check(grid, bindings, limits)
        };
        self.call(extent, threadgroup, bound, cancel, how)
    }

    /// Runs the kernel slowly and counts what its simdgroups do.
    pub fn count(
        &self,
        extent: Extent,
        threadgroup: [u32; 3],
        bound: Vec<(u32, Lent)>,
        cancel: Option<&AtomicBool>,
    ) -> Result<Counts, Error> {
        let how = |grid: &Grid, bindings: &mut Bindings, limits: &Limits<'_>| {
            self.program.count(grid, bindings, limits, Sample::All)
        };
        self.call(extent, threadgroup, bound, cancel, how)
    }

    fn call<T>(
        &self,
        extent: Extent,
        threadgroup: [u32; 3],
        bound: Vec<(u32, Lent)>,
        cancel: Option<&AtomicBool>,
        how: impl FnOnce(&Grid, &mut Bindings, &Limits<'_>) -> Result<T, RunError>,
    ) -> Result<T, Error> {
        let threads = check::threads(extent, threadgroup, &self.device, &self.facts)?;
        let grid = Grid::threads(threads, threadgroup);
        let mut bindings = self.bindings(bound)?;
        let limits = Limits {
            max_memory: DEFAULT_MEMORY,
            cancel,
            ..Limits::default()
        };
        how(&grid, &mut bindings, &limits).map_err(|error| match failure(error, 0) {
            Stop::Stopped => Error::Cancelled,
            Stop::Failed(error) => error,
        })
    }

    /// Checks what is bound against the arguments.
    fn bindings(&self, bound: Vec<(u32, Lent)>) -> Result<Bindings, Error> {
        let place = |(index, lent): &(u32, Lent)| match lent {
            Lent::ThreadgroupMemory(_) => Place::Threadgroup(*index),
            Lent::Memory(_) | Lent::Same(_) => Place::Buffer(*index),
        };
        let is_bound = |wanted: Place| bound.iter().any(|one| place(one) == wanted);
        check::required(is_bound, &self.facts, self.program.required())?;
        let memory = bound.iter().filter_map(|(_, lent)| match lent {
            Lent::ThreadgroupMemory(bytes) => Some(*bytes),
            _ => None,
        });
        check::threadgroup_memory(memory, &self.device, &self.facts)?;
        let mut bindings = Bindings::new();
        for (index, lent) in bound {
            match lent {
                Lent::Memory(buffer) => {
                    check::binding(&self.facts, index, 0, buffer.len() as u64)?;
                    bindings.set(index, buffer);
                }
                Lent::Same(of) => bindings.share(index, of, 0),
                Lent::ThreadgroupMemory(bytes) => bindings.set_threadgroup_memory(index, bytes),
            }
        }
        Ok(bindings)
    }
}

//! Runs Metal kernels on the CPU.
//!
//! A kernel of an optimised [`assay_ssa::Module`] is compiled once into flat bytecode
//! ([`Program::compile`]) and run over a grid ([`Program::run`]). A simdgroup's 32 threads run
//! in lockstep: an operation is decoded once and applied to 32 lanes. Which lanes take part,
//! and where lanes that parted meet again, is what [`assay_opt::control`] says; nothing is decided here.
//! All arithmetic is `assay-num`'s.
//!
//! Operations without effects run on all lanes, active or not: their operands in inactive lanes
//! keep the values they had, so the results stay the same too. Memory, values passed to blocks
//! and collectives look at the mask.
//!
//! Threadgroups run in parallel; up to eight simdgroups of one run in step, so that an operation is decoded once for all of
//! them, and such batches take turns at barriers. Results do not depend on the number of workers, unless the kernel
//! itself races: a kernel that uses atomics on device memory whose outcome depends on order runs its threadgroups in order.
//!
//! A dispatch whose threads are independent, each with numbers of its own one after the other along x, is streamed over whole rows
//! instead (`stream`): by the same functions, on buffers where they lie.
//!
//! Every access is checked against the bounds of what it points into; one outside stops the
//! dispatch with a [`Fault`] that says where.
//!
//! Two other ways to run a kernel are compiled from the same interpreter, each with an observer that is called before every
//! access: [`Program::check`] reports races and other errors of a kernel, [`Program::count`] counts instructions,
//! memory traffic and idle lanes. A plain run has no observer, and its loop no trace of them.
//!
//! The interpreter is compiled for several levels of vector instructions; [`Options::simd`] chooses one, the best of the CPU by
//! default. Results are the same with all.
//!
//! ```
//! use assay_exec::{Bindings, Buffer, Class, Grid, Limits, Options, Program, ReportKind, Sample};
//! // Each thread stores 7; the buffer is one number short.
//! let mut module = assay_ssa::parse(
//!     "module \"m\"\n\
//!      kernel \"k\" f0 {\n\
//!          \"out\" buffer 0 param 0 space device read_write type \"int\" size 4 align 4\n}\n\
//!      function f0 \"k\" -> void {\n\
//!      b0(v0: ptr.device):\n\
//!          v1: v3i32 = call thread_position_in_grid()\n\
//!          v2: i32 = extract v1, i32 0\n\
//!          v3: ptr.device = ptr_add v0 + v2 * 4\n\
//!          store v3, i32 7 align 4\n\
//!          return\n}\n",
//! )?;
//! assay_opt::pipeline::optimize(&mut module).map_err(|error| error.to_string())?;
//! let program = Program::compile(&module, "k", &Options::default())?;
//! let (grid, limits) = (Grid::line(64, 32), Limits::default());
//!
//! let mut bindings = Bindings::new();
//! bindings.set(0, Buffer::zeroed(63 * 4));
//! let reports = program.check(&grid, &mut bindings, &limits)?;
//! assert_eq!(reports[0].kind, ReportKind::OutOfBounds);
//! assert_eq!(reports[0].thread, [63, 0, 0]);
//!
//! bindings.set(0, Buffer::zeroed(64 * 4));
//! program.run(&grid, &mut bindings, &limits)?;
//! assert_eq!(bindings.get(0).map(|out| out.to_vec::<i32>()), Some(vec![7; 64]));
//!
//! let counts = program.count(&grid, &mut bindings, &limits, Sample::All)?;
//! assert_eq!(counts.instructions(Class::Memory), 2);
//! assert_eq!(counts.device.lines, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod arithmetic;
mod atomics;
mod bindings;
mod buffer;
mod builtins;
mod check;
mod class;
mod code;
mod collective;
mod compile;
mod count;
mod dispatch;
mod error;
mod geometry;
mod group_batching;
#[cfg(all(target_os = "linux", not(miri)))]
mod huge_pages;
mod interpret;
mod lanes;
mod matrix;
mod memory;
#[cfg(feature = "native")]
mod native;
mod operands;
mod position;
mod simd;
mod single_lanes;
mod stream;
mod texture;
mod turns;

pub use bindings::{Bindings, MOST_RESIDENTS, Target, resident_address};
pub use buffer::{Buffer, Element};
pub use check::{Bytes, Footprint, Location, Party, Report, ReportKind};
pub use code::Program;
pub use compile::Options;
pub use count::{Class, Counts, DeviceCounts, LineCounts, Sample, ThreadgroupCounts, Traffic};
pub use dispatch::{Limits, Statistics};
pub use error::{CompileError, Fault, FaultKind, Forgiven, RunError};
pub use geometry::Grid;
#[cfg(feature = "native")]
pub use native::{Native, NativeError, NativeState};
pub use simd::SimdLevel;
pub use texture::BoundTexture;

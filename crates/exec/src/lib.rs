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
//! Threadgroups run in parallel; the simdgroups of one take turns at barriers. Results do not depend
//! on the number of workers, unless the kernel itself races: a kernel that uses atomics on
//! device memory whose outcome depends on order runs its threadgroups in order.
//!
//! Every access is checked against the bounds of what it points into; one outside stops the
//! dispatch with a [`Fault`] that says where.

mod arithmetic;
mod atomics;
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
mod interpret;
mod lanes;
mod matrix;
mod memory;
mod operands;
mod position;
mod rare;

pub use buffer::{Buffer, Element};
pub use check::{Location, Party, Report, ReportKind};
pub use code::Program;
pub use compile::Options;
pub use count::{Class, Counts, DeviceCounts, LineCounts, Sample, ThreadgroupCounts, Traffic};
pub use dispatch::{Bindings, Limits, Statistics};
pub use error::{CompileError, Fault, FaultKind, RunError};
pub use geometry::Grid;

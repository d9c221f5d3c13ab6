//! Runs AGX machine code (Apple G13 and G14, and G15 to G17 as far as it is known) on the CPU.
//!
//! A [`Program`](assay_agx::Program) is executed as the hardware would: simdgroups of
//! 32 lanes with the execution mask in `r0l`, threadgroups with barriers and shared
//! memory, the constant program first. By default a run also *proves* the parts of a
//! program that hardware only punishes with wrong results: registers read before the
//! `wait` of the load that fills them, after the discard hint gave them up, or before
//! anything was written; execution-mask levels that are not closed; uniforms that
//! nothing sets.
//!
//! ```
//! use assay_agx::{Isa, Program};
//! use assay_emu::{DeviceMemory, Launch, run};
//!
//! // get_sr r1, thread_position_in_grid.x; device_store i32, r1, u0_u1, r1; stop
//! let code = [
//!     0x72, 0x05, 0x10, 0x04, 0x45, 0x09, 0x20, 0x0e, 0x00, 0xc0, 0x12, 0x00, 0x88, 0x00,
//! ];
//! let program = Program { code: code.to_vec(), ..Program::new(Isa::G13, "iota") };
//! let mut memory = DeviceMemory::new();
//! let output = memory.add(&[0; 4 * 40])?;
//! let mut launch = Launch::new([40, 1, 1], [32, 1, 1]);
//! launch.uniforms.set_u64(0, memory.address(output))?;
//! run(&program, &launch, &memory)?;
//! assert_eq!(memory.bytes(output)[4 * 39..], 39u32.to_le_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | you want | look at |
//! |---|---|
//! | to run something | [`run`], [`Launch`], [`DeviceMemory`] |
//! | to know why it stopped | [`Fault`], [`FaultKind`] |
//! | how often each instruction ran | [`Launch::count`], [`Counts`] |
//! | some threadgroups of a large grid | [`Runner`] |
//! | every instruction and access | [`Observer`], [`Step`] |
//! | what one thread did | [`Launch::trace`], [`TraceEntry`] |
//!
//! # What is exact and what is not
//!
//! Arithmetic is `assay-num`'s; its documentation says what is exact. Cross-lane float
//! reductions use that crate's order, which need not be the hardware's. Textures,
//! images, tiles and asynchronous copies are not emulated: reaching one stops the run.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod arith;
mod counts;
mod device;
mod dispatch;
mod fault;
mod format;
mod host;
mod interpret;
mod launch;
mod lower;
mod nesting;
mod observe;
mod op;
mod ops;
mod poison;
mod simdgroup;
mod touch;
mod trace;
mod uniforms;

pub use assay_launch::fill::Fill;
pub use counts::{Counts, InstructionCount};
pub use device::{BufferId, DeviceMemory, NoBuffer, Place, TooManyBuffers};
pub use dispatch::{EmuError, GroupOutcome, Outcome, Progress, Runner, run, run_with_progress};
pub use fault::{Fault, FaultKind, Memory, NestingFault, Site, Thread};
pub use launch::{
    Launch, LaunchError, MAX_STACK_BYTES, MAX_THREADGROUP_BYTES, MAX_THREADS_PER_THREADGROUP,
};
pub use observe::{AccessKind, MemoryAccess, Observer, Step};
pub use trace::{TraceEntry, Written};
pub use uniforms::{NoSuchUniform, UNIFORM_HALVES, Uniforms};

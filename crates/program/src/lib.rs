//! How long a recorded program would keep a GPU busy, and with what.
//!
//! ```text
//!  recording ──▶ Recorded: distinct launches, steps ──▶ Kernels: each launch executed once ──▶ Run on a chip ──▶ trace::Recording
//! ```
//!
//! [`Recorded::read`] makes what a program encoded small: a dispatch is the number of a launch. [`Kernels::execute`] opens the
//! libraries of the recording again and runs a sample of each distinct launch on the emulator, once for all chips and, with a
//! [`Store`], once for all runs. [`Run::simulate`] puts the dispatches on a chip's queue, and [`timeline`] makes of it a recording
//! that `assay-trace` reports, compares and exports like one of Instruments.
//!
//! [`Clock`] does the same for a program that still runs, command buffer by command buffer.
//!
//! All times of GPUs are modelled; those of the host are only in the recording, and never added to them.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod clock;
mod explain;
mod hazards;
mod kernels;
mod key;
mod recorded;
mod simulate;
mod steps;
mod store;
mod timeline;
mod used;

pub use clock::{Clock, Timed};
pub use kernels::{Executed, Kernels, Opened, opened};
pub use recorded::{Dispatched, Given, Launch, Recorded, Step};
pub use simulate::{Run, Slot, SlotKind};
pub use steps::Steps;
pub use store::Store;
pub use timeline::timeline;
pub use used::{MOST_LAUNCHES, Use, Used};

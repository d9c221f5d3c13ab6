//! Predicts how long a Metal kernel takes on an Apple GPU, without one.
//!
//! Two steps. [`execute`] runs a sample of a dispatch's threadgroups on the emulator and
//! folds what they did into an [`Execution`]: a few kilobytes, independent of the chip.
//! [`predict`] replays executions on a model of a chip and gives time, band and reasons.
//!
//! | you want | look at |
//! |---|---|
//! | to describe what is dispatched | [`Dispatch`], [`Memory`], [`Argument`] |
//! | to execute it once, for every chip | [`execute`], [`Sampling`], [`Execution`] |
//! | what a larger chip would bring | [`gains`] |
//! | a time | [`predict`], [`CommandBuffer`], [`Constants`], [`Prediction`] |

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod caches;
mod code;
mod constants;
mod core;
mod cut;
mod dispatch;
mod error;
mod execute;
pub mod execution;
mod fold;
mod footprint;
mod gains;
mod machine;
mod pipeline;
mod predict;
mod ranges;
mod record;
mod reuse;
mod sample;
mod schedule;

pub use constants::Constants;
pub use core::Reason;
pub use dispatch::{Argument, Buffer, Dispatch, Memory};
pub use error::Error;
pub use execute::{Sampling, execute};
pub use execution::Execution;
pub use gains::{Gain, gains};
pub use predict::{
    Cache, Class, CommandBuffer, MODEL, Prediction, Repeated, Term, predict, reason_name,
};

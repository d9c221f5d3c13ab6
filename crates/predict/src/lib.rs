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
//! | what a core did, cycle by cycle | [`pictures`], [`Picture`] |
//! | which instructions the time belongs to | [`by_instruction`] |
//! | what accesses, branches and barriers did, one by one | [`Sampled::seen`] |
//! | the time without an effect | [`removal`] |
//! | which of two kernels is faster | [`Compared`] |
//! | reports | [`Report`], [`Predicted`], [`render`] |
//! | constants measured on one machine | [`calibrate`] |
//! | a time | [`predict`], [`CommandBuffer`], [`Constants`], [`Prediction`] |

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

mod attribute;
mod caches;
pub mod calibrate;
mod change;
mod code;
mod compare;
mod constants;
mod core;
mod cut;
mod dispatch;
mod document;
mod error;
mod execute;
pub mod execution;
mod fold;
mod footprint;
mod gains;
mod invariants;
mod levels;
mod machine;
mod observe;
mod picture;
mod pipeline;
mod predict;
mod ranges;
mod record;
pub mod removal;
pub mod render;
mod reuse;
mod sample;
mod sampled;
mod schedule;
pub mod seen;
mod shape;
mod summarise;

pub use attribute::{InstructionTime, by_instruction};
pub use compare::{Call, CauseChange, Compared, TermChange};
pub use constants::Constants;
pub use core::{REASONS, Reason};
pub use dispatch::{Argument, Buffer, Dispatch, Memory};
pub use document::{
    Causes, Doubled, LineTime, Predicted, Question, Refused, Report, Target, TermTime, Work,
};
pub use error::Error;
pub use execute::{Sampling, execute, run_all, sample};
pub use execution::Execution;
pub use gains::{Gain, gains, resources};
pub use machine::FIGURES;
pub use picture::{Activity, Picture, Row, Stretch, pictures};
pub use predict::{
    Cache, Class, CommandBuffer, MODEL, Prediction, Repeated, Term, predict, reason_name,
};
pub use sampled::Sampled;

//! Predicted times, for every command that shows one: which chips, which launch, which kernels.

pub(crate) mod registry;
pub(crate) mod targets;
pub(crate) mod task;

pub(crate) use assay_engine::Launched;
pub(crate) use assay_engine::execution::{Code, Pass, Task};
pub(crate) use assay_engine::lines;
pub(crate) use assay_engine::prediction::{buffer, predicted, report};
pub(crate) use targets::{Choice, target};
pub(crate) use task::failure;

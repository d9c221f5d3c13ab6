//! Predicted times, for every command that shows one: which chips, which launch, which kernels.

use crate::progress;
use assay_predict::{Cache, Predicted, Report, Target};

pub(crate) mod targets;
pub(crate) mod task;

pub(crate) use assay_engine::Launched;
pub(crate) use assay_engine::execution::{Code, Pass, Task};
pub(crate) use assay_engine::lines;
pub(crate) use assay_engine::prediction::buffer;
pub(crate) use targets::{Choice, target};
pub(crate) use task::failure;

/// Predicts passes of a kernel on one chip.
pub(crate) fn predicted(
    kernel: &str,
    code: Code,
    passes: &[Pass],
    times: u32,
    target: &Target,
    state: Cache,
) -> Result<Predicted, assay_engine::Error> {
    progress::stage(&assay_engine::prediction::stage(kernel, target));
    assay_engine::prediction::predicted(kernel, code, passes, times, target, state)
}

/// Predicts every task on every chip.
pub(crate) fn report(
    tasks: &[Task],
    targets: &[Target],
    state: Cache,
    times: u32,
) -> Result<Report, assay_engine::Error> {
    assay_engine::prediction::report(tasks, targets, state, times, progress::stage)
}

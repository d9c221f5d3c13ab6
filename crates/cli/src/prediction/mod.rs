//! Predicted times, for every command that shows one: which chips, which launch, which kernels.

pub(crate) mod lines;
pub(crate) mod registry;
pub(crate) mod targets;
pub(crate) mod task;

pub(crate) use crate::launch::Launched;
pub(crate) use targets::{Choice, target};
pub(crate) use task::{Code, Pass, Task, failure};

use crate::failure::Failure;
use assay_predict::{Cache, CommandBuffer, Predicted, Question, Repeated, Report, Target};

/// A command buffer that runs passes in order, and all of them `times` times.
pub(crate) fn buffer(passes: &[Pass], times: u32) -> CommandBuffer<'_> {
    let dispatches = passes.iter().map(|pass| Repeated {
        execution: &pass.execution,
        times: pass.times,
    });
    CommandBuffer {
        dispatches: dispatches.collect(),
        times,
    }
}

/// Predicts passes of a kernel on one chip.
pub(crate) fn predicted(
    kernel: &str,
    code: Code,
    passes: &[Pass],
    times: u32,
    target: &Target,
    state: Cache,
) -> Result<Predicted, Failure> {
    crate::progress::stage(&format!("predicting {kernel} on {}", target.chip.name));
    let question = Question {
        kernel,
        code: code.name(),
        buffer: buffer(passes, times),
        state,
    };
    Predicted::new(&question, target).map_err(failure)
}

/// Predicts every task on every chip. A single task or chip that fails is an error.
pub(crate) fn report(
    tasks: &[Task],
    targets: &[Target],
    state: Cache,
    times: u32,
) -> Result<Report, Failure> {
    let mut report = Report::default();
    let alone = tasks.len() == 1;
    for task in tasks {
        let passes = match &task.executed {
            Ok(passes) => passes,
            Err(failure) if alone => return Err(failure.clone()),
            Err(failure) => {
                report.refused.push(assay_predict::Refused {
                    kernel: task.kernel.clone(),
                    chip: None,
                    reason: failure.message.clone(),
                });
                continue;
            }
        };
        for target in targets {
            match predicted(&task.kernel, task.code, passes, times, target, state) {
                Ok(predicted) => report.predictions.push(predicted),
                Err(failure) if alone && targets.len() == 1 => return Err(failure),
                Err(failure) => report.refused.push(assay_predict::Refused {
                    kernel: task.kernel.clone(),
                    chip: Some(target.chip.name.to_owned()),
                    reason: failure.message,
                }),
            }
        }
    }
    Ok(report)
}

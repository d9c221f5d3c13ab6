//! Predicted times of what was executed.

use crate::Error;
use crate::execution::{Code, Pass, Task};
use assay_predict::{
    Cache, CommandBuffer, Predicted, Question, Refused, Repeated, Report, Target, render,
};
use assay_report::blocks::Detail;

/// The JSON document of predicted times.
#[derive(Debug, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document {
    /// The first screen, as Markdown.
    answer: String,
    #[serde(flatten)]
    report: Report,
}

impl Document {
    /// A report with its first screen.
    pub fn new(report: Report) -> Document {
        let answer = render::answer(&report, Detail::Screen).markdown();
        Document { answer, report }
    }
}

/// A command buffer that runs passes in order, and all of them `times` times.
pub fn buffer(passes: &[Pass], times: u32) -> CommandBuffer<'_> {
    let dispatches = passes.iter().map(|pass| Repeated {
        execution: &pass.execution,
        times: pass.times,
    });
    CommandBuffer {
        dispatches: dispatches.collect(),
        times,
    }
}

/// What is begun with a prediction, for whoever is told.
pub fn stage(kernel: &str, target: &Target) -> String {
    format!("predicting {kernel} on {}", target.chip.name)
}

/// Predicts passes of a kernel on one chip.
pub fn predicted(
    kernel: &str,
    code: Code,
    passes: &[Pass],
    times: u32,
    target: &Target,
    state: Cache,
) -> Result<Predicted, Error> {
    let question = Question {
        kernel,
        code: code.name(),
        buffer: buffer(passes, times),
        state,
    };
    Ok(Predicted::new(&question, target)?)
}

/// Predicts every task on every chip; what is begun is told. A single task or chip that fails is an error.
pub fn report(
    tasks: &[Task],
    targets: &[Target],
    state: Cache,
    times: u32,
    begun: fn(&str),
) -> Result<Report, Error> {
    let mut report = Report::default();
    let alone = tasks.len() == 1;
    for task in tasks {
        let passes = match &task.executed {
            Ok(passes) => passes,
            Err(error) if alone => return Err(error.clone()),
            Err(error) => {
                report.refused.push(Refused {
                    kernel: task.kernel.clone(),
                    chip: None,
                    reason: error.message.clone(),
                });
                continue;
            }
        };
        for target in targets {
            begun(&stage(&task.kernel, target));
            match predicted(&task.kernel, task.code, passes, times, target, state) {
                Ok(predicted) => report.predictions.push(predicted),
                Err(error) if alone && targets.len() == 1 => return Err(error),
                Err(error) => report.refused.push(Refused {
                    kernel: task.kernel.clone(),
                    chip: Some(target.chip.name.to_owned()),
                    reason: error.message,
                }),
            }
        }
    }
    Ok(report)
}

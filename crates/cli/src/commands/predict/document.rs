//! Predictions as data: what JSON shows.

use super::task::{Pass, Task, failure};
use super::{Args, Target};
use crate::failure::Failure;
use assay_predict::{Cache, CommandBuffer, Execution, MODEL, Prediction, Repeated, gains, predict};
use serde::Serialize;

/// Predicted times.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Report {
    /// One for each kernel and chip.
    pub(super) predictions: Vec<Predicted>,
    /// Kernels without a prediction, and why.
    pub(super) refused: Vec<Refused>,
}

/// The predicted time of a kernel on a chip.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Predicted {
    /// The kernel.
    pub(super) kernel: String,
    /// The chip.
    pub(super) chip: String,
    /// GPU cores that were assumed.
    pub(super) cores: f64,
    /// Always `modelled`: no GPU measured this.
    pub(super) basis: &'static str,
    /// Microseconds of the command buffer.
    pub(super) time_us: f64,
    /// Four of five kernels of the class lie between this and `high_us`.
    pub(super) low_us: f64,
    /// See `low_us`.
    pub(super) high_us: f64,
    /// Kernels whose predictions err alike.
    pub(super) class: String,
    /// The largest term, or `launch` when overheads are.
    pub(super) limited_by: String,
    /// Where the time goes; adds up to the whole.
    pub(super) terms: Vec<Term>,
    /// What twice as much of a resource would bring, the most useful first.
    pub(super) doubled: Vec<Doubled>,
    /// Which machine code was looked at.
    pub(super) code: String,
    /// `warm` or `cold` caches.
    pub(super) state: String,
    /// Threadgroups of all dispatches.
    pub(super) threadgroups: u64,
    /// Threadgroups that were executed.
    pub(super) sampled: u64,
    /// Version of the model.
    pub(super) model: &'static str,
    /// Figures and constants that the user changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) what_if: Vec<String>,
    /// What to know about this prediction.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// A part of the time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Term {
    pub(super) name: String,
    pub(super) us: f64,
}

/// A resource, and the time with twice as much of it.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Doubled {
    pub(super) resource: String,
    pub(super) time_us: f64,
}

/// A kernel without a prediction.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Refused {
    pub(super) kernel: String,
    /// The chip, when it is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chip: Option<String>,
    pub(super) reason: String,
}

impl Report {
    /// Predicts every task on every chip. A single task or chip that fails is an error.
    pub(super) fn new(
        tasks: Vec<Task>,
        targets: &[Target],
        state: Cache,
        args: &Args,
    ) -> Result<Report, Failure> {
        let mut report = Report {
            predictions: Vec::new(),
            refused: Vec::new(),
        };
        let alone = tasks.len() == 1;
        for task in tasks {
            let passes = match task.executed {
                Ok(passes) => passes,
                Err(failure) if alone => return Err(failure),
                Err(failure) => {
                    report.refused.push(Refused {
                        kernel: task.kernel,
                        chip: None,
                        reason: failure.message,
                    });
                    continue;
                }
            };
            for target in targets {
                let predicted = predicted(&task.kernel, task.code, &passes, target, state, args);
                match predicted {
                    Ok(predicted) => report.predictions.push(predicted),
                    Err(failure) if alone && targets.len() == 1 => return Err(failure),
                    Err(failure) => report.refused.push(Refused {
                        kernel: task.kernel.clone(),
                        chip: Some(target.chip.name.to_owned()),
                        reason: failure.message,
                    }),
                }
            }
        }
        Ok(report)
    }
}

fn predicted(
    kernel: &str,
    code: &str,
    passes: &[Pass],
    target: &Target,
    state: Cache,
    args: &Args,
) -> Result<Predicted, Failure> {
    let buffer = CommandBuffer {
        dispatches: passes
            .iter()
            .map(|pass| Repeated {
                execution: &pass.execution,
                times: pass.times,
            })
            .collect(),
        times: args.repeat,
    };
    let executions = || passes.iter().map(|pass| &pass.execution);
    let (chip, constants) = (&target.chip, &target.constants);
    let prediction = predict(&buffer, chip, constants, state).map_err(failure)?;
    let doubled = gains(&buffer, chip, constants, state).map_err(failure)?;
    let mut notes: Vec<String> = executions().flat_map(|e| e.notes.clone()).collect();
    let code = match chip.has_costs() {
        true => format!("{code}, G13"),
        false => {
            notes.push(format!(
                "{} runs another instruction set: this is code for M1 and M2 with its clock, cores and memory",
                chip.title
            ));
            format!("{code}, G13 as a stand-in")
        }
    };
    let Prediction {
        time_us,
        low_us,
        high_us,
        terms,
        limited_by,
        class,
        ..
    } = prediction;
    Ok(Predicted {
        kernel: kernel.to_owned(),
        chip: chip.name.to_owned(),
        cores: chip.get(assay_chip::Parameter::Cores).unwrap_or(0.0),
        basis: "modelled",
        time_us: rounded(time_us),
        low_us: rounded(low_us),
        high_us: rounded(high_us),
        class: class.name().to_owned(),
        limited_by: limited_by.to_owned(),
        terms: terms
            .iter()
            .map(|term| Term {
                name: term.name.to_owned(),
                us: rounded(term.us),
            })
            .collect(),
        doubled: doubled
            .iter()
            .map(|gain| Doubled {
                resource: gain.resource.to_owned(),
                time_us: rounded(gain.time_us),
            })
            .collect(),
        code,
        state: match state {
            Cache::Warm => "warm",
            Cache::Cold => "cold",
        }
        .to_owned(),
        threadgroups: executions().map(Execution::threadgroups).sum(),
        sampled: executions().map(|e| u64::from(e.sampled)).sum(),
        model: MODEL,
        what_if: target.changed.clone(),
        notes,
    })
}

/// Four significant digits: no more are meant.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(3 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

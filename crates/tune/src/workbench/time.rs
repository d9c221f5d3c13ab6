//! Predicted times of candidates.

use super::{AS_WRITTEN, Launch, Made, Subject};
use crate::attempts::{Failure, Genome, Prediction, Stage};
use assay_agx::Program;
use assay_launch::Sizes;
use assay_predict::{
    Argument, Cache, CommandBuffer, Dispatch, Error, Execution, Memory, Repeated, Sampling, Target,
    execute, predict as replay,
};

/// How much of a candidate is executed: half of what a single prediction takes.
pub(super) const SAMPLING: Sampling = Sampling {
    threadgroups: 16,
    max_steps: 20_000_000,
    budget: 3_000_000,
    as_written: false,
};

/// What a program is, without its names and lines.
pub(super) fn identity(program: &Program) -> String {
    let bare = Program {
        name: String::new(),
        lines: Vec::new(),
        calls: Vec::new(),
        files: Vec::new(),
        ..program.clone()
    };
    format!("{bare:?}")
}

/// Executes a sample of a candidate's threadgroups.
pub(super) fn executed(made: &Made, launch: &impl Launch) -> Result<Execution, Failure> {
    let limits = |error: assay_launch::Error| Failure::new(Stage::Limits, error.to_string());
    let model = |why: String| Failure::new(Stage::Model, why);
    let (grid, threadgroup) = made.geometry.at(&made.sizes).map_err(limits)?;
    let mut memory = Memory::new();
    let inputs = launch.inputs(&made.sizes, AS_WRITTEN).map_err(model)?;
    let mut arguments = memory.bind(&inputs).map_err(failed)?;
    for number in made.geometry.numbers.iter().filter(|number| number.added) {
        let value = number.value.number_at(&made.sizes).map_err(limits)?;
        let value = Argument::Bytes(value.to_le_bytes().to_vec());
        arguments.push((number.buffer, value));
    }
    let mut threadgroup_memory = Vec::new();
    for (index, formula) in (0..).zip(&made.geometry.threadgroup_memory) {
        threadgroup_memory.push((index, formula.number_at(&made.sizes).map_err(limits)?));
    }
    let dispatch = Dispatch {
        program: &made.program,
        grid,
        threadgroup,
        arguments,
        threadgroup_memory,
    };
    execute(&dispatch, &mut memory, &SAMPLING).map_err(failed)
}

/// Instructions of all simdgroups of the original at certain sizes, by a sample.
pub fn instructions(
    subject: &Subject<'_>,
    launch: &impl Launch,
    sizes: &Sizes,
) -> Result<f64, Failure> {
    let mut sizes = sizes.clone();
    sizes.extend(subject.numbers(&[]));
    let geometry = launch.geometry().clone();
    let shape = geometry.at(&sizes);
    let (_, threadgroup) = shape.map_err(|error| Failure::new(Stage::Limits, error.to_string()))?;
    let made = Made {
        program: subject.code(&Genome::default(), None, threadgroup)?,
        geometry,
        sizes,
    };
    let execution = executed(&made, launch)?;
    Ok(execution.instructions * execution.threadgroups() as f64)
}

/// Predicts a candidate's time.
pub(super) fn predict(
    made: &Made,
    launch: &impl Launch,
    target: &Target,
) -> Result<Prediction, Failure> {
    let execution = executed(made, launch)?;
    let buffer = CommandBuffer {
        dispatches: vec![Repeated {
            execution: &execution,
            times: 1,
        }],
        times: 1,
    };
    let predicted = replay(&buffer, &target.chip, &target.constants, Cache::Warm);
    let predicted = predicted.map_err(failed)?;
    let mut terms: Vec<(String, f64)> = predicted
        .terms
        .iter()
        .map(|term| (term.name.to_owned(), rounded(term.us)))
        .collect();
    terms.retain(|(_, us)| *us > 0.0);
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(Prediction {
        time_us: rounded(predicted.time_us),
        low_us: rounded(predicted.low_us),
        high_us: rounded(predicted.high_us),
        limited_by: predicted.limited_by.to_owned(),
        class: predicted.class.name().to_owned(),
        terms,
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

fn failed(error: Error) -> Failure {
    let stage = match &error {
        Error::Endless { .. } => Stage::Abandoned,
        Error::Run(_) => Stage::Limits,
        _ => Stage::Model,
    };
    Failure::new(stage, error.to_string())
}

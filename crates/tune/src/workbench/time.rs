//! Predicted times of candidates.

use super::{AS_WRITTEN, Launch, Made, MadeAt, Subject};
use crate::attempts::{Failure, Genome, Prediction, Stage};
use assay_agx::Program;
use assay_launch::Sizes;
use assay_predict::{
    Argument, Cache, CommandBuffer, Dispatch, Error, Execution, Memory, Prediction as Predicted,
    Repeated, Sampling, Target, execute, predict as replay,
};
use assay_rewrite::recipe::Geometry;

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

/// A predicted time at certain sizes on a chip.
pub(super) struct Cell {
    pub(super) sizes: Sizes,
    pub(super) chip: String,
    pub(super) time_us: f64,
}

/// Executes a sample of a candidate's threadgroups at each of its sizes.
fn executions(made: &Made, launch: &impl Launch) -> Result<Vec<Execution>, Failure> {
    let cases = made.cases.iter();
    cases
        .map(|case| executed(case, &made.geometry, launch))
        .collect()
}

/// Executes a sample of a candidate's threadgroups.
fn executed(
    case: &MadeAt,
    geometry: &Geometry,
    launch: &impl Launch,
) -> Result<Execution, Failure> {
    let limits = |error: assay_launch::Error| Failure::new(Stage::Limits, error.to_string());
    let model = |why: String| Failure::new(Stage::Model, why);
    let (grid, threadgroup) = geometry.at(&case.sizes).map_err(limits)?;
    let mut memory = Memory::new();
    let inputs = launch.inputs(&case.sizes, AS_WRITTEN).map_err(model)?;
    let mut arguments = memory.bind(&inputs).map_err(failed)?;
    for number in geometry.numbers.iter().filter(|number| number.added) {
        let value = number.value.number_at(&case.sizes).map_err(limits)?;
        let value = Argument::Bytes(value.to_le_bytes().to_vec());
        arguments.push((number.buffer, value));
    }
    let mut threadgroup_memory = Vec::new();
    for (index, formula) in (0..).zip(&geometry.threadgroup_memory) {
        threadgroup_memory.push((index, formula.number_at(&case.sizes).map_err(limits)?));
    }
    let dispatch = Dispatch {
        program: &case.program,
        grid,
        threadgroup,
        arguments,
        threadgroup_memory,
    };
    execute(&dispatch, &mut memory, &SAMPLING).map_err(failed)
}

/// Predicted times at all sizes of a candidate on all chips, sizes first.
pub(super) fn cells(
    made: &Made,
    launch: &impl Launch,
    targets: &[&Target],
) -> Result<Vec<Cell>, Failure> {
    let mut cells = Vec::new();
    for (execution, case) in executions(made, launch)?.iter().zip(&made.cases) {
        for target in targets {
            cells.push(Cell {
                sizes: case.named.clone(),
                chip: target.chip.name.to_string(),
                time_us: replayed(execution, target)?.time_us,
            });
        }
    }
    Ok(cells)
}

/// Instructions of all simdgroups of the original at certain sizes, by a sample.
pub fn instructions(
    subject: &Subject<'_>,
    launch: &impl Launch,
    sizes: &Sizes,
) -> Result<f64, Failure> {
    let named = sizes.clone();
    let mut sizes = sizes.clone();
    sizes.extend(subject.numbers(&[]));
    let geometry = launch.geometry();
    let shape = geometry.at(&sizes);
    let (_, threadgroup) = shape.map_err(|error| Failure::new(Stage::Limits, error.to_string()))?;
    let case = MadeAt {
        program: subject.code(&Genome::default(), None, threadgroup)?,
        named,
        sizes,
    };
    let execution = executed(&case, geometry, launch)?;
    Ok(execution.instructions * execution.threadgroups() as f64)
}

fn replayed(execution: &Execution, target: &Target) -> Result<Predicted, Failure> {
    let buffer = CommandBuffer {
        dispatches: vec![Repeated {
            execution,
            times: 1,
        }],
        times: 1,
    };
    replay(&buffer, &target.chip, &target.constants, Cache::Warm).map_err(failed)
}

/// Predicts a candidate's time: the geometric mean of all sizes and chips, with the terms of the first.
pub(super) fn predict(
    made: &Made,
    launch: &impl Launch,
    targets: &[&Target],
) -> Result<Prediction, Failure> {
    let mut all = Vec::new();
    for execution in &executions(made, launch)? {
        for target in targets {
            all.push(replayed(execution, target)?);
        }
    }
    let Some(predicted) = all.first() else {
        return Err(Failure::new(
            Stage::Model,
            "no size and no chip to predict for",
        ));
    };
    let mean = all.iter().map(|it| it.time_us.ln()).sum::<f64>() / all.len() as f64;
    let scale = if all.len() == 1 {
        1.0
    } else {
        mean.exp() / predicted.time_us
    };
    let mut terms: Vec<(String, f64)> = predicted
        .terms
        .iter()
        .map(|term| (term.name.to_owned(), rounded(term.us * scale)))
        .collect();
    terms.retain(|(_, us)| *us > 0.0);
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(Prediction {
        time_us: rounded(predicted.time_us * scale),
        low_us: rounded(predicted.low_us * scale),
        high_us: rounded(predicted.high_us * scale),
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

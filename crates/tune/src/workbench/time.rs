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

/// Predicts a candidate's time, with the terms of the first size: the geometric mean of all sizes and chips. Where a program says how
/// often it has each size, the mean of its dispatches on each chip.
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
    let times: Vec<f64> = all.iter().map(|it| it.time_us).collect();
    let scale = match all.len() {
        1 => 1.0,
        _ => mean(&times, launch.counts(), targets.len()) / predicted.time_us,
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

/// The mean of times of so many chips, sizes first: the geometric one; with counts, that of all dispatches, and the geometric one of chips.
fn mean(times: &[f64], counts: &[f64], chips: usize) -> f64 {
    let geometric = |times: &[f64]| {
        let logs = times.iter().map(|time| time.ln()).sum::<f64>();
        (logs / times.len() as f64).exp()
    };
    let cases = times.chunks(chips.max(1));
    if counts.len() != cases.len() {
        return geometric(times);
    }
    let of_chip = |chip: usize| {
        let weighed = cases.clone().zip(counts);
        let sum = weighed.map(|(times, count)| times.get(chip).unwrap_or(&0.0) * count);
        sum.sum::<f64>() / counts.iter().sum::<f64>()
    };
    let chips: Vec<f64> = (0..chips).map(of_chip).collect();
    geometric(&chips)
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

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn a_program_weighs_its_launches_by_their_number() {
        // Two sizes on two chips, sizes first.
        let times = [1.0, 4.0, 100.0, 400.0];
        assert!((mean(&times, &[], 2) - 20.0).abs() < 1e-9);
        assert!((mean(&times, &[9.0, 1.0], 2) - 21.8).abs() < 1e-9);
        assert!((mean(&times, &[1.0, 0.0], 2) - 2.0).abs() < 1e-9);
    }
}

//! What samples of a time say, and the steps of the register file: definitions of the workspace, for Python.

use assay_bench::stats::{self, Order, Summary};
use assay_chip::occupancy::STEPS;
use pyo3::prelude::*;

/// Samples in a few numbers: count, least, median with its interval (low, value, high), mean, largest, deviation,
/// outliers. Nothing for no samples, or ones that are not finite.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a row of numbers that Python names")]
pub(crate) fn summary(
    samples: Vec<f64>,
) -> Option<(usize, f64, (f64, f64, f64), f64, f64, f64, usize)> {
    let found = Summary::of(&samples)?;
    let median = (found.median.low, found.median.value, found.median.high);
    Some((
        found.count,
        found.min,
        median,
        found.mean,
        found.max,
        found.deviation,
        found.outliers,
    ))
}

/// Times taken in turns: the interval of the ratio first to second, and which is faster.
#[pyfunction]
pub(crate) fn race(
    first: Vec<f64>,
    second: Vec<f64>,
    least: f64,
) -> Option<(f64, f64, f64, &'static str)> {
    let found = stats::race(&first, &second, least)?;
    let order = match found.order {
        Order::FirstFaster => "first",
        Order::SecondFaster => "second",
        Order::Tie => "tie",
    };
    Some((found.ratio.low, found.ratio.value, found.ratio.high, order))
}

/// Threads per core by half registers per thread: the steps of the register file.
#[pyfunction]
pub(crate) fn occupancy_steps() -> Vec<(u32, u32)> {
    STEPS
        .iter()
        .map(|step| (step.half_registers, step.threads))
        .collect()
}

//! Fitting constants of the model, in the logarithm, held near their published values.

use crate::judge::ratios;
use crate::search::{Limits, minimise};
use crate::store::Stored;
use assay_chip::{Chip, ModelConstant};
use assay_predict::Constants;

/// The constants that the M2 data determines. The others keep their published values.
pub const FREE: &[&str] = &[
    "launch_us",
    "issue_efficiency",
    "reduction_cycles",
    "access_cycles",
    "line_cycles",
    "local_row_cycles",
    "local_conflict_cycles",
    "barrier_cycles",
    "l2_latency",
    "l2_bytes_per_cycle",
    "slc_bytes_per_cycle",
    "slc_ratio",
    "dram_efficiency",
    "l1_share",
    "l2_share",
    "slc_share",
    "group_cycles",
    "simdgroup_cycles",
];

/// Constants of the M3's generation.
pub const FREE_M3: &[&str] = &["line_cycles", "local_row_cycles", "issue_efficiency"];

/// How strongly constants are held near their start, per case: a constant at the end of
/// its range costs as much as this factor's logarithm on every case.
const HOLD: f64 = 0.04;

/// Errors below this are noise of the data and count by their square.
const NOISE: f64 = 0.08;

/// What a fit starts from: values and ranges.
#[derive(Clone, Debug)]
pub struct Start {
    /// All constants.
    pub constants: Constants,
    /// The rows of the free ones.
    pub free: Vec<ModelConstant>,
}

impl Start {
    /// The constants of a chip, of which some are free.
    pub fn of(chip: &Chip, free: &[&str]) -> Start {
        let rows = Constants::rows(chip);
        Start {
            constants: Constants::of(chip),
            free: rows
                .into_iter()
                .filter(|row| free.contains(&row.name))
                .collect(),
        }
    }

    /// The same from other values.
    pub fn from(mut self, constants: Constants) -> Start {
        self.constants = constants;
        self
    }

    fn point(&self) -> Vec<f64> {
        let value = |row: &ModelConstant| self.constants.get(row.name).unwrap_or(row.value);
        self.free.iter().map(|row| value(row).ln()).collect()
    }

    fn constants_at(&self, point: &[f64]) -> Constants {
        let mut constants = self.constants;
        for (row, log) in self.free.iter().zip(point) {
            constants.set(row.name, log.exp().clamp(row.range.0, row.range.1));
        }
        constants
    }

    /// The cost of being away from the published values or outside of the ranges.
    fn penalty(&self, point: &[f64]) -> f64 {
        let terms = self.free.iter().zip(point).map(|(row, log)| {
            let (low, high) = (row.range.0.ln(), row.range.1.ln());
            let half = ((high - low) / 2.0).max(1e-9);
            let away = (log - row.value.ln()) / half;
            let outside = (low - log).max(log - high).max(0.0);
            HOLD * away * away + 10.0 * outside
        });
        terms.sum::<f64>() / self.free.len().max(1) as f64
    }
}

/// Fits the free constants to cases. Deterministic.
pub fn fit(start: &Start, cases: &[&Stored], chip: &Chip, limits: Limits) -> Constants {
    let objective = |point: &[f64]| {
        let constants = start.constants_at(point);
        loss(&ratios(cases, chip, &constants)) + start.penalty(point)
    };
    let (point, _) = minimise(&start.point(), limits, objective);
    start.constants_at(&point)
}

/// Mean error in the logarithm, rounded off near zero.
pub fn loss(ratios: &[f64]) -> f64 {
    let errors = ratios.iter().map(|ratio| {
        let log = if ratio.is_finite() { ratio.ln() } else { 3.0 };
        (log * log + NOISE * NOISE).sqrt() - NOISE
    });
    errors.sum::<f64>() / ratios.len().max(1) as f64
}

/// Cross-validation: each case is judged by constants fitted on the other folds. Returns
/// the ratio of each case.
pub fn cross_validate(
    start: &Start,
    cases: &[&Stored],
    folds: &[usize],
    chip: &Chip,
    limits: Limits,
) -> Vec<f64> {
    let count = folds.iter().max().map_or(0, |last| last + 1);
    let mut judged = vec![f64::NAN; cases.len()];
    for fold in 0..count {
        let pick = |wanted: bool| -> Vec<&Stored> {
            let members = cases.iter().zip(folds);
            let chosen = members.filter(|(_, of)| (**of == fold) == wanted);
            chosen.map(|(case, _)| *case).collect()
        };
        let constants = fit(start, &pick(false), chip, limits);
        let mut seen = ratios(&pick(true), chip, &constants).into_iter();
        for (ratio, of) in judged.iter_mut().zip(folds) {
            if *of == fold {
                *ratio = seen.next().unwrap_or(f64::NAN);
            }
        }
    }
    judged
}

//! Fitting constants of the model, in the logarithm, held near their published values.

use crate::judge::ratios;
use crate::search::{Limits, minimise};
use crate::store::Stored;
use assay_chip::{Chip, ModelConstant};
use assay_predict::Constants;

/// The constants that the M2 data determines, with the published or guessed values that a
/// fit starts from and is held near. The others keep theirs.
pub const FREE: &[(&str, f64)] = &[
    ("launch_us", 5.0),
    ("issue_efficiency", 0.85),
    ("reduction_cycles", 12.0),
    ("access_cycles", 0.25),
    ("barrier_cycles", 33.0),
    ("l2_bytes_per_cycle", 36.0),
    ("slc_bytes_per_cycle", 26.0),
    ("slc_ratio", 1.9),
    ("dram_efficiency", 0.88),
    ("l1_share", 1.5),
    ("l2_share", 1.5),
    ("slc_share", 1.2),
    ("group_cycles", 80.0),
    ("simdgroup_cycles", 15.0),
];

/// Constants of the M3's generation, with what a fit starts from: twice the rates of the generations before, whose on-core
/// memory is another one.
pub const FREE_M3: &[(&str, f64)] = &[
    ("request_cycles", 0.25),
    ("local_row_cycles", 0.8),
    ("issue_efficiency", 0.9),
];

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
    /// The published values, on a chip. Values fitted earlier are not looked at.
    pub fn published(chip: &Chip) -> Start {
        let mut constants = Constants::of(chip);
        for (name, value) in FREE {
            constants.set(name, *value);
        }
        let names: Vec<&str> = FREE.iter().map(|(name, _)| *name).collect();
        Start::at(chip, constants, &names)
    }

    /// Given constants, of which some are free.
    pub fn at(chip: &Chip, constants: Constants, free: &[&str]) -> Start {
        let mut rows = Constants::rows(chip);
        rows.retain(|row| free.contains(&row.name));
        for row in &mut rows {
            row.value = constants.get(row.name).unwrap_or(row.value);
        }
        Start {
            constants,
            free: rows,
        }
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
    fn penalty(&self, point: &[f64], hold: f64) -> f64 {
        let terms = self.free.iter().zip(point).map(|(row, log)| {
            let (low, high) = (row.range.0.ln(), row.range.1.ln());
            let half = ((high - low) / 2.0).max(1e-9);
            let away = (log - row.value.ln()) / half;
            let outside = (low - log).max(log - high).max(0.0);
            hold * away * away + 10.0 * outside
        });
        terms.sum::<f64>() / self.free.len().max(1) as f64
    }
}

/// Fits the free constants to cases. Deterministic.
pub fn fit(start: &Start, cases: &[&Stored], chip: &Chip, limits: Limits) -> Constants {
    let objective = |point: &[f64]| {
        let constants = start.constants_at(point);
        loss(&ratios(cases, chip, &constants)) + start.penalty(point, limits.hold)
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

/// A term of the model and the constants that switch it off.
pub const TERMS: &[(&str, &[(&str, f64)])] = &[
    ("launch overhead", &[("launch_us", 1e-3)]),
    ("shared caches", &[("l2_share", 1e-6), ("slc_share", 1e-6)]),
    ("L1", &[("l1_share", 1e-6)]),
    ("L2 bandwidth", &[("l2_bytes_per_cycle", 1e9)]),
    (
        "DRAM and SLC bandwidth",
        &[
            ("dram_efficiency", 1e6),
            ("slc_ratio", 1e6),
            ("slc_bytes_per_cycle", 1e9),
        ],
    ),
    (
        "threadgroup memory",
        &[
            ("local_row_cycles", 1e-6),
            ("local_conflict_cycles", 1e-6),
            ("local_latency", 1e-6),
        ],
    ),
    ("bank conflicts", &[("local_conflict_cycles", 1e-6)]),
    (
        "launch of threadgroups",
        &[("group_cycles", 1e-6), ("simdgroup_cycles", 1e-6)],
    ),
    (
        "cost of accesses and of their lines",
        &[
            ("access_cycles", 1e-6),
            ("request_cycles", 1e-6),
            ("line_cycles", 1e-6),
        ],
    ),
    (
        "memory latency",
        &[
            ("l1_latency", 1e-6),
            ("l2_latency", 1e-6),
            ("slc_latency_ns", 1e-6),
            ("dram_latency_ns", 1e-6),
        ],
    ),
    ("barriers", &[("barrier_cycles", 1e-6)]),
    ("instruction cache", &[("fetch_latency", 1e-6)]),
    (
        "cost of matrix products",
        &[("matrix32_cycles", 1.0), ("matrix16_cycles", 1.0)],
    ),
    (
        "cost of reductions",
        &[("reduction_cycles", 1.0), ("prefix_cycles", 1.0)],
    ),
];

/// The start with a term switched off: its constants are no longer free.
pub fn without(start: &Start, off: &[(&str, f64)]) -> Start {
    let mut start = start.clone();
    for (name, value) in off {
        start.constants.set(name, *value);
        start.free.retain(|row| row.name != *name);
    }
    start
}

/// How far a constant can be moved, as a factor, before the mean error rises by 1 %.
pub fn determined(constants: &Constants, name: &str, cases: &[&Stored], chip: &Chip) -> f64 {
    let value = constants.get(name).unwrap_or(f64::NAN);
    let at = |by: f64| {
        let mut moved = *constants;
        moved.set(name, value * by);
        loss(&ratios(cases, chip, &moved))
    };
    let here = at(1.0);
    let mut by = 1.05;
    while by < 4.0 && at(by).min(at(1.0 / by)) < here + 0.01 {
        by *= 1.1;
    }
    by
}

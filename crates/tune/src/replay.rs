//! Replay: searches on spaces that somebody measured completely.
//!
//! Every configuration's time is known, so a search costs nothing and its best after N evaluations can be compared with
//! the optimum. [`Recorded`] is such a space, [`replay`] runs a strategy on it under many seeds.
//!
//! Two figures say how good a search is. The *fraction of the optimum* is the optimum's time over that of the best
//! configuration found. The *gap closed* says how much of what random search leaves is gained:
//! `(fraction − random) / (1 − random)`. What random search reaches is computed exactly, from order statistics.

mod calibration;
mod read;
mod table;

pub use calibration::{Calibration, Claims, calibrate};
pub use table::{Claimed, Report, Row, text};

use crate::search::{Prior, Search, Strategy, Trial};
use crate::space::{Point, Space};
use assay_launch::random::Random;
use rayon::prelude::*;

/// A space with the time of every configuration.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Where it was measured.
    pub device: String,
    /// What was measured.
    pub kernel: String,
    /// Its configurations.
    pub space: Space,
    /// Their times in order; `None` for those that failed.
    pub times: Vec<Option<f64>>,
}

/// Why a file is no recorded space.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Not JSON, or compressed wrongly.
    #[error("{0}")]
    Json(String),
    /// JSON of another kind.
    #[error(
        "this JSON is no recorded space: it has neither `configurations` nor `cache` nor `results`"
    )]
    Kind,
    /// A part that is missing or of another type.
    #[error("{0}")]
    Field(String),
    /// A space that makes no sense.
    #[error(transparent)]
    Space(#[from] crate::space::Error),
    /// Nothing to find.
    #[error("no configuration has a time")]
    NoTimes,
}

impl Recorded {
    /// Reads a recorded space, compressed by gzip or not: rows of value indices and a time (`configurations`), a cache
    /// file of Kernel Tuner (`cache`), or its T4 results (`results`).
    pub fn read(bytes: &[u8]) -> Result<Recorded, Error> {
        read::read(bytes)
    }

    fn time(&self, point: Point) -> Option<f64> {
        self.times.get(point.0 as usize).copied().flatten()
    }

    /// The least time.
    pub fn optimum(&self) -> f64 {
        self.times
            .iter()
            .flatten()
            .copied()
            .fold(f64::INFINITY, f64::min)
    }

    /// The fraction of the optimum that the best of `evaluations` random configurations reaches, on average.
    pub fn random_fraction(&self, evaluations: usize) -> f64 {
        let optimum = self.optimum();
        let mut fractions: Vec<f64> = self
            .times
            .iter()
            .map(|time| time.map_or(0.0, |time| optimum / time))
            .collect();
        fractions.sort_by(|a, b| b.total_cmp(a));
        let count = fractions.len();
        // The probability that none of those before `rank` was drawn: shrinks from 1 to 0.
        let mut none_better = 1.0;
        let mut sum = 0.0;
        for (rank, fraction) in fractions.iter().enumerate() {
            let left = count - rank;
            let drawn = (evaluations as f64 / left as f64).min(1.0);
            sum += none_better * drawn * fraction;
            none_better *= 1.0 - drawn;
        }
        sum
    }
}

/// What to replay.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How to search.
    pub strategy: Strategy,
    /// After how many evaluations to look.
    pub evaluations: Vec<usize>,
    /// How many seeds, from 0.
    pub seeds: u64,
    /// With a model whose predictions err by this standard deviation of logarithms.
    pub model_error: Option<f64>,
}

/// The mean fraction of the optimum after each number of evaluations.
///
/// ```
/// use assay_tune::replay::{Plan, Recorded, replay};
/// use assay_tune::search::Strategy;
/// let recorded = Recorded::read(
///     br#"{"device":"d","kernel":"k","parameters":{"a":[1,2]},"configurations":[[0,4.0],[1,2.0]]}"#,
/// )?;
/// let plan = Plan { strategy: Strategy::Random, evaluations: vec![1, 2], seeds: 100, model_error: None };
/// let fractions = replay(&recorded, &plan);
/// assert!((fractions[0] - 0.75).abs() < 0.1 && fractions[1] == 1.0);
/// # Ok::<(), assay_tune::replay::Error>(())
/// ```
pub fn replay(recorded: &Recorded, plan: &Plan) -> Vec<f64> {
    let optimum = recorded.optimum();
    let seeds = (0..plan.seeds).into_par_iter();
    let sums = seeds.map(|seed| {
        let times = search(recorded, plan, seed);
        let fraction = |count: &usize| {
            let best = times.get(..(*count).min(times.len())).unwrap_or_default();
            let best = best.iter().flatten().copied().fold(f64::INFINITY, f64::min);
            optimum / best
        };
        plan.evaluations.iter().map(fraction).collect::<Vec<f64>>()
    });
    let zero = vec![0.0; plan.evaluations.len()];
    // Collected first: the order of a sum decides its last bits.
    let all: Vec<Vec<f64>> = sums.collect();
    let add = |sums: Vec<f64>, more: &Vec<f64>| sums.iter().zip(more).map(|(a, b)| a + b).collect();
    let sums: Vec<f64> = all.iter().fold(zero, add);
    sums.iter()
        .map(|sum| sum / plan.seeds.max(1) as f64)
        .collect()
}

/// The times of one search, in the order of its evaluations.
fn search(recorded: &Recorded, plan: &Plan, seed: u64) -> Vec<Option<f64>> {
    let mut search = Search::new(&recorded.space, plan.strategy, seed);
    if let Some(error) = plan.model_error {
        search = search.with_prior(Prior::new(predictions(recorded, error, seed), error));
    }
    let most = plan.evaluations.iter().copied().max().unwrap_or(0);
    let mut trials: Vec<Trial> = Vec::new();
    while trials.len() < most {
        let Some(point) = search.next(&trials) else {
            break;
        };
        let time = recorded.time(point);
        trials.push(Trial { point, time });
    }
    trials.into_iter().map(|trial| trial.time).collect()
}

/// What a model that errs would say: every time with a log-normal error of its own. A model predicts nothing for what
/// fails, and cannot know that it will: such a configuration gets the time of another.
fn predictions(recorded: &Recorded, error: f64, seed: u64) -> Vec<Option<f64>> {
    let mut random = Random::of(seed, ERRORS);
    let timed: Vec<f64> = recorded.times.iter().flatten().copied().collect();
    let predict = |time: &Option<f64>| {
        let other = timed
            .get(random.below(timed.len() as u64) as usize)
            .copied();
        let erring = (error * random.normal()).exp();
        Some(time.or(other)? * erring)
    };
    recorded.times.iter().map(predict).collect()
}

/// The use of a seed for errors of models.
const ERRORS: u64 = 1 << 32;

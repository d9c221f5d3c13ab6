//! Calibration: are claimed gains true? Replayed searches that see a model's times and are judged by the recorded ones.

use super::{ERRORS, Recorded, predictions};
use crate::search::{Search, Strategy, Trial};
use crate::shrink::{Selection, shrink};
use assay_launch::random::Random;
use rayon::prelude::*;

/// What to replay for a calibration.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    /// How to search.
    pub strategy: Strategy,
    /// Evaluations of each search.
    pub evaluations: usize,
    /// Searches per space, each from another original configuration.
    pub seeds: u64,
    /// Standard deviation of the logarithm of predicted over true time.
    pub model_error: f64,
}

/// How claimed gains compare with true ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Claims {
    /// Searches.
    pub searches: usize,
    /// The share of searches whose claimed gain is not above the true one.
    pub not_above: f64,
    /// The median of claimed over true gain.
    pub median: f64,
    /// The median of the logarithm of the claimed over that of the true gain, where there is a gain of 5 % or more.
    pub median_log: f64,
    /// The same without shrinking: the share not above.
    pub unshrunk_not_above: f64,
    /// The same without shrinking: the median of claimed over true.
    pub unshrunk_median: f64,
}

/// Gains of one search.
struct Gains {
    claimed: f64,
    predicted: f64,
    true_: f64,
}

/// Replays searches that decide by a model's predictions, and compares what they claim with what is recorded.
///
/// The original is a random configuration with a time; its prediction errs like all others.
pub fn calibrate(spaces: &[Recorded], plan: &Calibration) -> Claims {
    let runs = spaces
        .iter()
        .flat_map(|space| (0..plan.seeds).map(move |seed| (space, seed)));
    let runs: Vec<(&Recorded, u64)> = runs.collect();
    let gains = runs
        .par_iter()
        .filter_map(|(space, seed)| gains(space, plan, *seed));
    Claims::of(&gains.collect::<Vec<Gains>>())
}

fn gains(recorded: &Recorded, plan: &Calibration, seed: u64) -> Option<Gains> {
    let predicted = predictions(recorded, plan.model_error, seed);
    let timed: Vec<_> = recorded
        .space
        .points()
        .filter(|&point| recorded.time(point).is_some())
        .collect();
    let place = Random::of(seed, ERRORS + 1).below(timed.len() as u64);
    let original = *timed.get(place as usize)?;
    let says = |point: crate::space::Point| {
        let known = recorded.time(point).is_some();
        predicted
            .get(point.0 as usize)
            .copied()
            .flatten()
            .filter(|_| known)
    };
    let search = Search::new(&recorded.space, plan.strategy, seed);
    let mut trials = vec![Trial {
        point: original,
        time: says(original),
    }];
    while trials.len() <= plan.evaluations {
        let Some(point) = search.next(&trials) else {
            break;
        };
        let time = says(point);
        trials.push(Trial { point, time });
    }
    let times: Vec<f64> = trials.iter().filter_map(|trial| trial.time).collect();
    let winner = trials
        .iter()
        .filter_map(|trial| Some((trial.time?, trial.point)))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let claim = shrink(&Selection {
        original: says(original)?,
        winner: winner.0,
        candidates: &times,
        error: plan.model_error,
    });
    Some(Gains {
        claimed: claim.claimed,
        predicted: claim.predicted,
        true_: recorded.time(original)? / recorded.time(winner.1)?,
    })
}

impl Claims {
    fn of(gains: &[Gains]) -> Claims {
        let share = |holds: fn(&Gains) -> bool| {
            gains.iter().filter(|gains| holds(gains)).count() as f64 / gains.len().max(1) as f64
        };
        let ratio = |of: fn(&Gains) -> f64| median(gains.iter().map(of).collect());
        let logs = gains.iter().filter(|gains| gains.true_ > 1.05);
        let logs = logs.map(|gains| gains.claimed.ln() / gains.true_.ln());
        Claims {
            searches: gains.len(),
            not_above: share(|gains| gains.claimed <= gains.true_),
            median: ratio(|gains| gains.claimed / gains.true_),
            median_log: median(logs.collect()),
            unshrunk_not_above: share(|gains| gains.predicted <= gains.true_),
            unshrunk_median: ratio(|gains| gains.predicted / gains.true_),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

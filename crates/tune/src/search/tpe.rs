//! Tree-structured Parzen estimators over categories (Bergstra, Bardenet, Bengio and Kégl, 2011).
//!
//! Trials are split into the best few and the rest. Over each part every knob has a histogram of its values, smoothed
//! by one pseudo-count per value. Candidates are drawn from the product of the best's histograms; the one whose
//! probability under the best exceeds that under the rest most is evaluated next.
//!
//! The constants are defaults that others published, not fitted here: ten random trials at the start, a tenth of the
//! trials but no more than 25 as the best, 24 candidates (Optuna's `TPESampler`); pseudo-counts as in Hyperopt.

use super::{Prior, Trial};
use crate::space::{Point, Space};
use assay_launch::random::Random;

/// Trials before histograms mean anything.
const STARTUP: usize = 10;
/// The best are one of so many trials.
const BEST_OF: usize = 10;
/// The best are no more than this.
const MOST_BEST: usize = 25;
/// Candidates drawn from the best's histograms.
const CANDIDATES: usize = 24;

/// The next point, once there are enough trials to learn from.
pub(super) fn next(
    space: &Space,
    trials: &[Trial],
    open: &impl Fn(&Point) -> bool,
    prior: Option<&Prior>,
    random: &mut Random,
) -> Option<Point> {
    if trials.len() < STARTUP {
        return prior?.best(space.points().filter(open));
    }
    let estimate = Estimate::new(space, trials);
    let points: Vec<Point> = space.points().filter(open).collect();
    let candidates = match prior {
        // A model ranks all configurations, so none has to be drawn.
        Some(_) => points,
        None => drawn(&estimate, space, &points, random),
    };
    let score = |point: Point| {
        let odds = estimate.log_odds(space.indices(point));
        odds + prior.map_or(0.0, |prior| prior.log_odds(point, estimate.threshold))
    };
    let scored = candidates.into_iter().map(|point| (score(point), point));
    let best = scored.reduce(|best, next| match next.0 > best.0 {
        true => next,
        false => best,
    });
    best.map(|(_, point)| point)
}

/// Points drawn with the probability that the best's histograms give them.
fn drawn(estimate: &Estimate, space: &Space, points: &[Point], random: &mut Random) -> Vec<Point> {
    let mut total = 0.0;
    let sums: Vec<f64> = points
        .iter()
        .map(|&point| {
            total += estimate.best.log_probability(space.indices(point)).exp();
            total
        })
        .collect();
    let draw = |_| {
        let at = random.unit() * total;
        let place = sums.partition_point(|&sum| sum <= at);
        points
            .get(place.min(points.len().saturating_sub(1)))
            .copied()
    };
    (0..CANDIDATES).filter_map(draw).collect()
}

/// Histograms of the best trials and of the rest.
struct Estimate {
    best: Histograms,
    rest: Histograms,
    /// The logarithm of the time that separates them.
    threshold: f64,
}

impl Estimate {
    fn new(space: &Space, trials: &[Trial]) -> Estimate {
        let time = |trial: &Trial| trial.time.unwrap_or(f64::INFINITY);
        let mut order: Vec<&Trial> = trials.iter().collect();
        order.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let best = trials.len().div_ceil(BEST_OF).min(MOST_BEST);
        let (best, rest) = order.split_at(best.min(order.len()));
        let threshold = rest.first().or(best.last());
        Estimate {
            threshold: threshold.map_or(f64::INFINITY, |trial| time(trial).ln()),
            best: Histograms::new(space, best),
            rest: Histograms::new(space, rest),
        }
    }

    fn log_odds(&self, indices: &[u16]) -> f64 {
        self.best.log_probability(indices) - self.rest.log_probability(indices)
    }
}

/// The logarithm of the probability of each value, knob after knob.
struct Histograms {
    logs: Vec<f64>,
    /// Where the values of each knob begin.
    starts: Vec<usize>,
}

impl Histograms {
    fn new(space: &Space, trials: &[&Trial]) -> Histograms {
        let mut starts = Vec::with_capacity(space.knobs().len());
        let mut end = 0;
        for knob in space.knobs() {
            starts.push(end);
            end += knob.values.len();
        }
        let mut counts = vec![1.0; end];
        for trial in trials {
            for (start, &index) in starts.iter().zip(space.indices(trial.point)) {
                counts[start + usize::from(index)] += 1.0;
            }
        }
        for (start, knob) in starts.iter().zip(space.knobs()) {
            let all = (trials.len() + knob.values.len()) as f64;
            for count in &mut counts[*start..start + knob.values.len()] {
                *count = (*count / all).ln();
            }
        }
        Histograms {
            logs: counts,
            starts,
        }
    }

    fn log_probability(&self, indices: &[u16]) -> f64 {
        let pairs = self.starts.iter().zip(indices);
        pairs
            .map(|(start, &index)| self.logs[start + usize::from(index)])
            .sum()
    }
}

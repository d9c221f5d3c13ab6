//! Multivariate tree-structured Parzen estimators over categories (Bergstra, Bardenet, Bengio and Kégl, 2011; jointly over
//! knobs as by Falkner, Klein and Hutter, 2018).
//!
//! Trials are split into the best few and the rest. Each part is a mixture of kernels, one per trial and one that is even
//! over all configurations. A trial's kernel prefers its own value of every knob, the more so the more trials there are.
//! Candidates are drawn from the best's mixture; the one whose density under the best exceeds that under the rest most is
//! evaluated next.
//!
//! The constants are defaults that others published (Optuna's `TPESampler` with `multivariate`), not fitted here: ten
//! random trials at the start, a tenth of the trials but no more than 25 as the best, 24 candidates, a prior weight of 1.

use super::{Prior, Trial};
use crate::space::{Config, Point, Space};
use assay_launch::random::Random;

/// Trials before densities mean anything.
const STARTUP: usize = 10;
/// The best are one of so many trials.
const BEST_OF: usize = 10;
/// The best are no more than this.
const MOST_BEST: usize = 25;
/// Candidates drawn from the best's mixture.
const CANDIDATES: usize = 24;
/// Weight of the even kernel, in trials.
const PRIOR_WEIGHT: f64 = 1.0;
/// Draws per candidate: what restrictions forbid or was tried already is drawn again.
const DRAWS: usize = 40;
/// With a model, the configurations it predicts fastest are candidates.
const PREDICTED: usize = 256;

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
    let candidates = match prior {
        Some(prior) => prior.fastest(space.points().filter(open), PREDICTED),
        None => estimate.best.draw(space, open, random),
    };
    let score = |point: Point| {
        let indices = space.indices(point);
        let odds = estimate.best.density(indices).ln() - estimate.rest.density(indices).ln();
        odds + prior.map_or(0.0, |prior| prior.log_odds(point, estimate.threshold))
    };
    let scored = candidates.into_iter().map(|point| (score(point), point));
    let best = scored.reduce(|best, next| match next.0 > best.0 {
        true => next,
        false => best,
    });
    best.map(|(_, point)| point)
}

/// Densities of the best trials and of the rest.
struct Estimate<'a> {
    best: Mixture<'a>,
    rest: Mixture<'a>,
    /// The logarithm of the time that separates them.
    threshold: f64,
}

impl<'a> Estimate<'a> {
    fn new(space: &'a Space, trials: &[Trial]) -> Estimate<'a> {
        let time = |trial: &Trial| trial.time.unwrap_or(f64::INFINITY);
        let mut order: Vec<&Trial> = trials.iter().collect();
        order.sort_by(|a, b| time(a).total_cmp(&time(b)));
        let best = trials.len().div_ceil(BEST_OF).min(MOST_BEST);
        let (best, rest) = order.split_at(best.min(order.len()));
        let threshold = rest.first().or(best.last());
        Estimate {
            threshold: threshold.map_or(f64::INFINITY, |trial| time(trial).ln()),
            best: Mixture::new(space, best),
            rest: Mixture::new(space, rest),
        }
    }
}

/// One kernel per trial, and an even one.
struct Mixture<'a> {
    centres: Vec<&'a [u16]>,
    /// Values of each knob.
    sizes: Vec<u16>,
    /// Probability of a trial's own value and of each other one, by knob.
    own: Vec<(f64, f64)>,
    /// Density of the even kernel.
    even: f64,
}

impl<'a> Mixture<'a> {
    fn new(space: &'a Space, trials: &[&Trial]) -> Mixture<'a> {
        let centres: Vec<&[u16]> = trials
            .iter()
            .map(|trial| space.indices(trial.point))
            .collect();
        let sizes: Vec<u16> = space
            .knobs()
            .iter()
            .map(|knob| knob.values.len() as u16)
            .collect();
        let other = PRIOR_WEIGHT / (centres.len() as f64 + PRIOR_WEIGHT);
        let own = sizes.iter().map(|&size| {
            let all = 1.0 + f64::from(size) * other;
            ((1.0 + other) / all, other / all)
        });
        Mixture {
            own: own.collect(),
            even: sizes.iter().map(|&size| 1.0 / f64::from(size)).product(),
            centres,
            sizes,
        }
    }

    fn density(&self, indices: &[u16]) -> f64 {
        let kernel = |centre: &&[u16]| -> f64 {
            let values = centre.iter().zip(indices).zip(&self.own);
            values
                .map(|((a, b), (own, other))| if a == b { own } else { other })
                .product()
        };
        let kernels: f64 = self.centres.iter().map(kernel).sum();
        (kernels + PRIOR_WEIGHT * self.even) / (self.centres.len() as f64 + PRIOR_WEIGHT)
    }

    /// Open points drawn from the mixture.
    fn draw(
        &self,
        space: &Space,
        open: &impl Fn(&Point) -> bool,
        random: &mut Random,
    ) -> Vec<Point> {
        let mut drawn = Vec::with_capacity(CANDIDATES);
        let mut config = vec![0; self.sizes.len()];
        for _ in 0..CANDIDATES * DRAWS {
            let at = random.unit() * (self.centres.len() as f64 + PRIOR_WEIGHT);
            let centre = self.centres.get(at as usize);
            for (place, value) in config.iter_mut().enumerate() {
                let own = centre.filter(|_| {
                    let (own, other) = self.own[place];
                    // An even draw may give the trial's own value too.
                    random.unit() < own - other
                });
                let even = random.below(u64::from(self.sizes[place])) as u16;
                *value = own.map_or(even, |centre| centre[place]);
            }
            let point = space.point(&Config::new(config.as_slice()));
            drawn.extend(point.filter(open));
            if drawn.len() == CANDIDATES {
                break;
            }
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Knob;

    #[test]
    fn densities_add_up_to_one_and_draws_follow_them() {
        let knobs =
            [3, 4].map(|size| Knob::new(format!("k{size}"), (0..size).map(|n| n.to_string())));
        let space = Space::new(knobs.to_vec(), &[]).unwrap();
        let trials = [Point(0), Point(5), Point(5)].map(|point| Trial { point, time: None });
        let trials: Vec<&Trial> = trials.iter().collect();
        let mixture = Mixture::new(&space, &trials);
        let densities: Vec<f64> = space
            .points()
            .map(|point| mixture.density(space.indices(point)))
            .collect();
        assert!((densities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut random = Random::new(1);
        let mut counts = vec![0.0; space.len()];
        for _ in 0..2000 {
            for point in mixture.draw(&space, &|_| true, &mut random) {
                counts[point.0 as usize] += 1.0 / (2000.0 * CANDIDATES as f64);
            }
        }
        for (count, density) in counts.iter().zip(densities) {
            assert!((count - density).abs() < 0.01, "{count} {density}");
        }
    }
}

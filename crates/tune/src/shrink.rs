//! The winner's curse: what a gain is worth that was picked among many.
//!
//! A model's predictions err. The candidate predicted fastest is fast, or its error was lucky, and the more candidates
//! there are the luckier the best one's error. A predicted gain is therefore a biased one, and is *shrunk* before it is
//! claimed.
//!
//! The method is empirical Bayes. Predicted log-times are true log-times plus a normal error of known size. How true
//! log-times are spread is estimated from the predictions of all candidates by deconvolution: the distribution on a grid
//! under which the predictions are most likely, found by expectation maximisation. With it as prior, Bayes' rule gives
//! the distribution of the true time of any candidate given its prediction. That distribution does not change because
//! the candidate was selected, which is what makes the correction right for any number of candidates.
//!
//! What is claimed is the gain that the true one exceeds with four chances in five ([`CONFIDENCE`]). Replayed
//! searches on recorded spaces ([`crate::replay::calibrate`]) say whether that is so.
//!
//! Errors of candidates that are alike are alike too, so many of them say no more about the winner than one does. Whatever the
//! others say, a claim is therefore never surer than two predictions alone make it.

use assay_launch::random::Random;

/// The probability with which a claimed gain is not above the true one. That the spread is itself estimated is accounted
/// for by resampling, not by a margin: claims after 25 evaluations hold in 82 % of searches on forty generated spaces, and in
/// 81 ± 1 % of a thousand on recorded ones (error 0.2).
pub const CONFIDENCE: f64 = 0.8;

/// Standard deviations that a normal variable does not exceed with that probability.
const QUANTILE: f64 = 0.841_621;

/// A gain before and after shrinking. Gains are factors: 1.5 is half as fast again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Predicted time of the original over that of the winner.
    pub predicted: f64,
    /// The mean of the true gain, given all predictions.
    pub expected: f64,
    /// The gain that the true one exceeds with probability [`CONFIDENCE`].
    pub claimed: f64,
    /// The gain that the true one does not exceed with that probability.
    pub high: f64,
}

/// Predicted times among which a winner was selected.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The original's.
    pub original: f64,
    /// The winner's.
    pub winner: f64,
    /// Those of all candidates that were compared.
    pub candidates: &'a [f64],
    /// Standard deviation of the logarithm of one predicted over true time.
    pub error: f64,
}

/// What the gain of a winner is worth.
///
/// ```
/// use assay_tune::shrink::{Selection, shrink};
/// // Twenty candidates that all do the same: what looks 1.4 times as fast is luck.
/// let candidates: Vec<f64> = (0..20).map(|n| 100.0 * (0.1 * (f64::from(n) - 9.5) / 2.9).exp()).collect();
/// let claim = shrink(&Selection { original: 100.0, winner: candidates[0], candidates: &candidates, error: 0.2 });
/// assert!(claim.predicted > 1.35 && claim.claimed < 1.1);
/// ```
pub fn shrink(selection: &Selection<'_>) -> Claim {
    let predicted = selection.original / selection.winner;
    let sound = |time: &f64| *time > 0.0 && time.is_finite();
    let known = sound(&selection.original) && sound(&selection.winner);
    let error = selection.error;
    if !known || error.is_nan() || error < LEAST_ERROR {
        return Claim {
            predicted,
            expected: predicted,
            claimed: predicted,
            high: predicted,
        };
    }
    let logs: Vec<f64> = selection
        .candidates
        .iter()
        .copied()
        .filter(sound)
        .map(f64::ln)
        .collect();
    let (original, winner) = (selection.original.ln(), selection.winner.ln());
    let grid = Grid::new(&logs, [original, winner], error);
    let gains = grid.gains(&logs, original, winner);
    // What two predictions alone leave open.
    let alone = (QUANTILE * std::f64::consts::SQRT_2 * error).exp();
    let expected = grid.gain(gains.iter().enumerate().map(|(at, p)| at as f64 * p).sum());
    Claim {
        predicted,
        expected: expected.min(predicted),
        claimed: grid
            .quantile(&gains, 1.0 - CONFIDENCE)
            .min(predicted / alone),
        high: grid.quantile(&gains, CONFIDENCE).max(predicted * alone),
    }
}

/// Predictions with smaller errors are taken as they are.
const LEAST_ERROR: f64 = 1e-3;
/// Points of the grid per standard deviation of the error.
const PER_ERROR: f64 = 4.0;
/// Points of the grid at most; wide spreads are resolved less finely.
const MOST_POINTS: usize = 512;
/// Rounds of expectation maximisation.
const ROUNDS: usize = 60;
/// Bootstrap samples of the candidates.
const SAMPLES: u64 = 16;
/// Candidates that the even distribution counts for: a few predictions are not all there could be.
const EVEN: f64 = 1.0;

/// Log-times on a grid, from the least prediction to the greatest: the likeliest spread never reaches beyond them.
struct Grid {
    low: f64,
    step: f64,
    error: f64,
    points: usize,
}

impl Grid {
    fn new(logs: &[f64], own: [f64; 2], error: f64) -> Grid {
        let all = || logs.iter().copied().chain(own);
        let low = all().fold(f64::INFINITY, f64::min);
        let high = all().fold(f64::NEG_INFINITY, f64::max);
        let points = ((high - low) / error * PER_ERROR).ceil() as usize + 1;
        let points = points.clamp(2, MOST_POINTS);
        Grid {
            low,
            step: (high - low) / (points - 1) as f64,
            error,
            points,
        }
    }

    /// How likely a predicted log-time is, for each true one.
    fn likelihood(&self, log: f64) -> Vec<f64> {
        let at = |place: usize| {
            let distance = (self.low + place as f64 * self.step - log) / self.error;
            (-0.5 * distance * distance).exp()
        };
        (0..self.points).map(at).collect()
    }

    /// The distribution of the logarithm of the true gain; its place `points` is no gain.
    ///
    /// The winner is left out where the spread is estimated: its own luck is what is asked for. Spreads are estimated
    /// from bootstrap samples of the candidates and their answers averaged, which accounts for how little a few
    /// candidates say about the spread (Laird and Louis, 1987).
    fn gains(&self, logs: &[f64], original: f64, winner: f64) -> Vec<f64> {
        let mut others = logs.to_vec();
        if let Some(own) = others.iter().position(|log| *log == winner) {
            others.swap_remove(own);
        }
        let others: Vec<Vec<f64>> = others.iter().map(|log| self.likelihood(*log)).collect();
        let (original, winner) = (self.likelihood(original), self.likelihood(winner));
        let mut gains = vec![0.0; 2 * self.points];
        let mut random = Random::new(0);
        for _ in 0..SAMPLES {
            let draw = |_| random.below(others.len() as u64) as usize;
            let sample: Vec<&Vec<f64>> =
                (0..others.len()).map(draw).map(|at| &others[at]).collect();
            let spread = self.spread(&sample);
            let (before, after) = (posterior(&spread, &original), posterior(&spread, &winner));
            for (i, p) in before.iter().enumerate().filter(|(_, p)| **p > 1e-9) {
                for (j, q) in after.iter().enumerate() {
                    gains[i + self.points - j] += p * q / SAMPLES as f64;
                }
            }
        }
        gains
    }

    /// The distribution of true log-times under which predictions with these likelihoods are most likely.
    fn spread(&self, likelihoods: &[&Vec<f64>]) -> Vec<f64> {
        let mut spread = vec![1.0 / self.points as f64; self.points];
        let mut next = vec![0.0; self.points];
        let all = likelihoods.len() as f64 + EVEN;
        for _ in 0..ROUNDS {
            next.fill(EVEN / self.points as f64 / all);
            for likelihood in likelihoods {
                let total: f64 = spread.iter().zip(*likelihood).map(|(p, l)| p * l).sum();
                let scale = 1.0 / (total.max(f64::MIN_POSITIVE) * all);
                for ((sum, p), l) in next.iter_mut().zip(&spread).zip(*likelihood) {
                    *sum += p * l * scale;
                }
            }
            std::mem::swap(&mut spread, &mut next);
        }
        spread
    }

    /// The gain at a place of a distribution of gains.
    fn gain(&self, place: f64) -> f64 {
        ((place - self.points as f64) * self.step).exp()
    }

    fn quantile(&self, gains: &[f64], share: f64) -> f64 {
        let mut below = 0.0;
        for (place, probability) in gains.iter().enumerate() {
            below += probability;
            if below >= share {
                return self.gain(place as f64);
            }
        }
        self.gain(gains.len() as f64)
    }
}

/// Bayes' rule.
fn posterior(spread: &[f64], likelihood: &[f64]) -> Vec<f64> {
    let products = spread.iter().zip(likelihood).map(|(p, l)| p * l);
    let mut posterior: Vec<f64> = products.collect();
    let total: f64 = posterior.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    posterior.iter_mut().for_each(|share| *share /= total);
    posterior
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(original: f64, candidates: &[f64], error: f64) -> Claim {
        let winner = candidates.iter().copied().fold(f64::INFINITY, f64::min);
        shrink(&Selection {
            original,
            winner,
            candidates,
            error,
        })
    }

    #[test]
    fn exact_predictions_are_claimed_as_they_are() {
        let claim = claim(10.0, &[10.0, 5.0, 8.0], 0.0);
        assert_eq!((claim.predicted, claim.claimed), (2.0, 2.0));
    }

    #[test]
    fn the_claim_is_lower_the_more_candidates_there_were() {
        let among = |count: u32| {
            // True times all 100; the winner's luck is the same in each case.
            let quantile = |n: u32| 0.4 * (f64::from(n) + 0.5) / f64::from(count) - 0.2;
            let times: Vec<f64> = (0..count).map(|n| 100.0 * quantile(n).exp()).collect();
            let mut times: Vec<f64> = times.into_iter().filter(|time| *time > 70.0).collect();
            times.push(70.0);
            claim(100.0, &times, 0.2).expected
        };
        assert!(
            among(100) < among(10) && among(10) < among(2),
            "{} {} {}",
            among(100),
            among(10),
            among(2)
        );
    }

    #[test]
    fn one_candidate_far_away_is_hardly_shrunk() {
        let claim = claim(100.0, &[100.0, 10.0], 0.18);
        assert!(claim.expected > 8.0, "{claim:?}");
        assert!(
            claim.claimed > 6.5 && claim.claimed < claim.expected,
            "{claim:?}"
        );
    }

    #[test]
    fn what_is_no_time_makes_no_claim_and_no_panic() {
        for bad in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let _ = claim(bad, &[bad, 1.0], 0.2);
            let _ = claim(1.0, &[bad], 0.2);
        }
        assert!(claim(1e-300, &[1e300, 1.0], 0.2).claimed.is_finite());
    }
}

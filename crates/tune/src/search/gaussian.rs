//! A Gaussian process over configurations (Snoek, Larochelle and Adams, 2012; for GPU kernels Willemsen, van Nieuwpoort
//! and van Werkhoven, 2021).
//!
//! Trials become normal scores of their ranks, so that nothing depends on the unit or the tail of times and what failed
//! ranks last. Two configurations are the more alike the fewer knobs differ and the less: the covariance is
//! `exp(−Σ weight · distance)`, where values that are numbers have a distance by their order and others are alike or not.
//! Each knob has a weight of its own, the likeliest given the trials: a knob that decides nothing is soon ignored, which is
//! what few trials can learn that densities of the best tenth of them cannot. The candidate with the greatest expected
//! improvement is evaluated next.
//!
//! How it was chosen: against Parzen estimators, other covariances (Matérn, sums over knobs) and scales of times, on
//! forty generated spaces (4 to 8 knobs of 2 to 16 values; quadratic, arbitrary and pairwise effects, cliffs, failures),
//! not on spaces that anybody measured. Ten trials at the start and a patience of ten are those of [`super::tpe`] and
//! [`super::polish`].

use super::{Trial, polish};
use crate::normal;
use crate::space::{Knob, Point, Space};
use assay_launch::random::Random;
use std::cell::RefCell;

/// Trials before a covariance means anything.
const STARTUP: usize = 10;
/// From so many trials on densities say as much, for less: the cost of a step grows with the square of trials.
pub(super) const MOST_TRIALS: usize = 128;
/// Open configurations that are looked at, besides the neighbourhood of the best.
const CANDIDATES: usize = 1000;
/// Variances of what the knobs do not explain, as a share of the rest.
const NOISES: [f64; 5] = [1e-4, 1e-3, 1e-2, 3e-2, 1e-1];
/// Rounds over all weights.
const ROUNDS: usize = 2;
/// Weights are multiplied or divided by this until the likelihood falls.
const STRIDE: f64 = 2.0;
/// Weights stay within this factor of 1, of which their logarithms differ by a standard deviation of 1 beforehand.
const WIDEST: f64 = 1e3;

/// The likeliest covariance of a beginning of the trials. It is estimated anew when there are a fifth more trials.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(RefCell<Option<(Vec<Trial>, Covariance)>>);

impl Memory {
    fn covariance(&self, places: &Places<'_>, trials: &[Trial]) -> Covariance {
        let mut count = STARTUP;
        while count + count.div_ceil(5) <= trials.len() {
            count += count.div_ceil(5);
        }
        let first = trials.get(..count).unwrap_or(trials);
        if let Some((known, covariance)) = &*self.0.borrow()
            && known == first
        {
            return covariance.clone();
        }
        let covariance = Covariance::likeliest(&places.of(first), &scores(first));
        *self.0.borrow_mut() = Some((first.to_vec(), covariance.clone()));
        covariance
    }
}

/// The next point, once there are enough trials to learn from and as long as there are not too many.
pub(super) fn next(
    space: &Space,
    trials: &[Trial],
    open: &impl Fn(&Point) -> bool,
    memory: &Memory,
    random: &mut Random,
) -> Option<Point> {
    if !(STARTUP..MOST_TRIALS).contains(&trials.len()) {
        return None;
    }
    let places = Places::new(space);
    let covariance = memory.covariance(&places, trials);
    let scores = scores(trials);
    let process = Process::new(covariance, places.of(trials), &scores)?;
    let near = polish::neighbourhood(space, trials, open);
    let candidates = match polish::is_due(trials, polish::PATIENCE) && !near.is_empty() {
        true => near,
        false => drawn(space, open, random).chain(near).collect(),
    };
    let best = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let mut place = Vec::new();
    let mut row = vec![0.0; trials.len()];
    let scored = candidates.into_iter().map(|point| {
        places.write(space.indices(point), &mut place);
        (process.expected_improvement(&place, best, &mut row), point)
    });
    let chosen = scored.reduce(|best, next| if next.0 > best.0 { next } else { best });
    chosen.map(|(_, point)| point)
}

/// Open points: all if there are few, otherwise as many at random.
fn drawn(
    space: &Space,
    open: &impl Fn(&Point) -> bool,
    random: &mut Random,
) -> impl Iterator<Item = Point> {
    let all: Vec<Point> = space.points().filter(open).collect();
    let few = all.len() <= CANDIDATES;
    (0..all.len().min(CANDIDATES)).filter_map(move |at| {
        let at = match few {
            true => at,
            false => random.below(all.len() as u64) as usize,
        };
        all.get(at).copied()
    })
}

/// Normal scores: the quantile of each trial's rank. Equal times have equal scores.
fn scores(trials: &[Trial]) -> Vec<f64> {
    let time = |trial: &Trial| trial.time.unwrap_or(f64::INFINITY);
    let mut sorted: Vec<f64> = trials.iter().map(time).collect();
    sorted.sort_by(f64::total_cmp);
    let score = |trial: &Trial| {
        let below = sorted.partition_point(|other| other.total_cmp(&time(trial)).is_lt());
        let equal = sorted.partition_point(|other| other.total_cmp(&time(trial)).is_le());
        normal::quantile((below + equal) as f64 / (2.0 * trials.len() as f64))
    };
    trials.iter().map(score).collect()
}

/// Where the values of each knob lie: numbers from 0 to 1 in their order, others by name.
struct Places<'a> {
    space: &'a Space,
    knobs: Vec<Vec<f64>>,
}

impl<'a> Places<'a> {
    fn new(space: &'a Space) -> Places<'a> {
        Places {
            space,
            knobs: space.knobs().iter().map(Places::knob).collect(),
        }
    }

    /// Names lie beyond 1, a whole number apart: [`distance`] takes them for alike or not.
    fn knob(knob: &Knob) -> Vec<f64> {
        let numbers: Option<Vec<u64>> = knob.values.iter().map(|value| value.number).collect();
        let Some(numbers) = numbers else {
            return (0..knob.values.len()).map(|at| 2.0 + at as f64).collect();
        };
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let last = sorted.len().saturating_sub(1).max(1) as f64;
        let rank = |number: &u64| sorted.partition_point(|other| other < number);
        numbers
            .iter()
            .map(|number| rank(number) as f64 / last)
            .collect()
    }

    fn write(&self, indices: &[u16], place: &mut Vec<f64>) {
        let places = self.knobs.iter().zip(indices);
        place.clear();
        place.extend(places.map(|(knob, &at)| knob.get(usize::from(at)).copied().unwrap_or(0.0)));
    }

    fn of(&self, trials: &[Trial]) -> Vec<Vec<f64>> {
        let place = |trial: &Trial| {
            let mut place = Vec::new();
            self.write(self.space.indices(trial.point), &mut place);
            place
        };
        trials.iter().map(place).collect()
    }
}

fn distance(a: f64, b: f64) -> f64 {
    (a - b).abs().min(1.0)
}

/// How alike two configurations are.
#[derive(Clone, Debug)]
struct Covariance {
    weights: Vec<f64>,
    noise: f64,
}

impl Covariance {
    fn of(&self, a: &[f64], b: &[f64]) -> f64 {
        let terms = a.iter().zip(b).zip(&self.weights);
        let sum: f64 = terms
            .map(|((a, b), weight)| weight * distance(*a, *b))
            .sum();
        (-sum).exp()
    }

    /// The weights and the noise that are likeliest, by a search along each in turn.
    fn likeliest(places: &[Vec<f64>], scores: &[f64]) -> Covariance {
        let knobs = places.first().map_or(0, Vec::len);
        let mut best = Covariance {
            weights: vec![1.0; knobs],
            noise: 1e-2,
        };
        let mut likelihood = best.log_likelihood(places, scores);
        for _ in 0..ROUNDS {
            for knob in 0..knobs {
                for factor in [1.0 / STRIDE, STRIDE] {
                    let mut next = best.clone();
                    next.weights[knob] *= factor;
                    while (1.0 / WIDEST..WIDEST).contains(&next.weights[knob])
                        && next.replaces(&mut best, &mut likelihood, places, scores)
                    {
                        next.weights[knob] *= factor;
                    }
                }
            }
            for noise in NOISES {
                let weights = best.weights.clone();
                let next = Covariance { weights, noise };
                next.replaces(&mut best, &mut likelihood, places, scores);
            }
        }
        best
    }

    /// Takes the place of another if it is likelier.
    fn replaces(
        &self,
        best: &mut Covariance,
        likelihood: &mut f64,
        places: &[Vec<f64>],
        scores: &[f64],
    ) -> bool {
        let own = self.log_likelihood(places, scores);
        let better = own > *likelihood + 1e-9;
        if better {
            *likelihood = own;
            *best = self.clone();
        }
        better
    }

    /// Up to a constant, with the likeliest variance; and how likely the weights are beforehand.
    fn log_likelihood(&self, places: &[Vec<f64>], scores: &[f64]) -> f64 {
        let count = scores.len();
        let Some(factor) = self.factor(places) else {
            return f64::NEG_INFINITY;
        };
        let solved = solve(&factor, scores);
        let variance = squares(&solved) / count as f64;
        let determinant: f64 = (0..count).map(|at| factor[at * count + at].ln()).sum();
        let weights: f64 = self.weights.iter().map(|weight| weight.ln().powi(2)).sum();
        -0.5 * count as f64 * variance.max(f64::MIN_POSITIVE).ln() - determinant - 0.5 * weights
    }

    /// The Cholesky factor of the trials' covariances, by rows.
    fn factor(&self, places: &[Vec<f64>]) -> Option<Vec<f64>> {
        let count = places.len();
        let mut factor = vec![0.0; count * count];
        for row in 0..count {
            let (above, own) = factor.split_at_mut(row * count);
            for (column, above) in above.chunks_exact(count).enumerate() {
                let rest = self.of(&places[row], &places[column]) - dot(&above[..column], own);
                own[column] = rest / above[column];
            }
            let rest = 1.0 + self.noise - squares(&own[..row]);
            own[row] = Some(rest).filter(|rest| *rest > 1e-12)?.sqrt();
        }
        Some(factor)
    }
}

/// In four sums side by side: one would wait for each addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let length = a.len().min(b.len());
    let (a, b) = (&a[..length], &b[..length]);
    let (fours_a, rest_a) = a.as_chunks::<4>();
    let (fours_b, rest_b) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in fours_a.iter().zip(fours_b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

fn squares(values: &[f64]) -> f64 {
    dot(values, values)
}

/// Solves a lower triangular system.
fn solve(factor: &[f64], right: &[f64]) -> Vec<f64> {
    let mut solved = right.to_vec();
    solve_in_place(factor, &mut solved);
    solved
}

fn solve_in_place(factor: &[f64], values: &mut [f64]) {
    let count = values.len();
    for row in 0..count {
        let (before, own) = values.split_at_mut(row);
        let line = &factor[row * count..row * count + row + 1];
        own[0] = (own[0] - dot(&line[..row], before)) / line[row];
    }
}

/// What the trials say about every configuration.
struct Process {
    covariance: Covariance,
    places: Vec<Vec<f64>>,
    factor: Vec<f64>,
    solved: Vec<f64>,
    variance: f64,
}

impl Process {
    fn new(covariance: Covariance, places: Vec<Vec<f64>>, scores: &[f64]) -> Option<Process> {
        let factor = covariance.factor(&places)?;
        let solved = solve(&factor, scores);
        Some(Process {
            variance: squares(&solved) / scores.len() as f64,
            covariance,
            places,
            factor,
            solved,
        })
    }

    /// How much lower than `best` a configuration's score is, on average, where it is lower. `row` is scratch space, a place
    /// per trial.
    fn expected_improvement(&self, place: &[f64], best: f64, row: &mut [f64]) -> f64 {
        for (covariance, other) in row.iter_mut().zip(&self.places) {
            *covariance = self.covariance.of(place, other);
        }
        solve_in_place(&self.factor, row);
        let mean = dot(row, &self.solved);
        let deviation = (self.variance * (1.0 - squares(row)).max(1e-10)).sqrt();
        let z = (best - mean) / deviation;
        let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        deviation * (z * normal::cumulative(z) + density)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Space {
        let numbers = (0..8).map(|value| (1 << value).to_string());
        let knobs = vec![
            Knob::new("tile", numbers.clone()),
            Knob::new("kind", ["half", "float", "bfloat"]),
            Knob::new("idle", numbers),
        ];
        Space::new(knobs, &[]).unwrap()
    }

    fn trials(space: &Space, count: usize, time: fn(&[u16]) -> f64) -> Vec<Trial> {
        let mut random = Random::new(3);
        let trial = |_| {
            let point = Point(random.below(space.len() as u64) as u32);
            Trial {
                point,
                time: Some(time(space.indices(point))),
            }
        };
        (0..count).map(trial).collect()
    }

    #[test]
    fn a_knob_that_decides_nothing_has_the_least_weight() {
        let space = space();
        let trials = trials(&space, 40, |at| {
            f64::from(at[0].abs_diff(5)) + 3.0 * f64::from(at[1])
        });
        let places = Places::new(&space);
        let found = Covariance::likeliest(&places.of(&trials), &scores(&trials)).weights;
        assert!(4.0 * found[2] < found[0].min(found[1]), "{found:?}");
    }

    #[test]
    fn where_trials_were_nothing_is_expected_and_between_them_something_is() {
        let space = space();
        let trials = trials(&space, 20, |at| 1.0 + f64::from(at[0].abs_diff(5)));
        let places = Places::new(&space);
        let covariance = Covariance {
            weights: vec![1.0; 3],
            noise: 1e-6,
        };
        let scores = scores(&trials);
        let best = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let process = Process::new(covariance, places.of(&trials[..1]), &scores[..1]).unwrap();
        let mut row = vec![0.0; 1];
        let tried = process.expected_improvement(&places.of(&trials)[0], scores[0], &mut row);
        let untried = process.expected_improvement(&[0.5, 3.0, 0.5], best, &mut row);
        assert!(tried < 0.01 && untried > tried, "{tried} {untried}");
    }

    #[test]
    fn scores_are_quantiles_of_ranks_and_failures_share_the_last() {
        let time = |time| Trial {
            point: Point(0),
            time,
        };
        let found = scores(&[time(Some(9.0)), time(None), time(Some(1e9)), time(None)]);
        assert!(
            (found[0] + 1.150).abs() < 1e-3 && (found[2] + 0.319).abs() < 1e-3,
            "{found:?}"
        );
        assert_eq!(found[1], found[3]);
        assert!(found[1] > found[2]);
    }
}

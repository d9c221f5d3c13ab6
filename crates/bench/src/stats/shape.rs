//! Samples that are not all of one kind: a clock that sinks, two modes.

use super::{mad, median};

/// A trend over the samples in the order they were taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// From the first to the last sample, relative to the median: 0.1 is 10 % slower at the end.
    pub change: f64,
    /// How many standard deviations the trend is away from none (Mann and Kendall).
    pub significance: f64,
}

impl Drift {
    /// Whether times grow by more than chance explains and by more than 2 %: a GPU that gets warm, or a clock that is
    /// lowered.
    pub fn is_slowing(&self) -> bool {
        self.significance > 3.0 && self.change > 0.02
    }

    /// The same the other way: a clock that is still rising, so too little warm-up.
    pub fn is_warming_up(&self) -> bool {
        self.significance < -3.0 && self.change < -0.02
    }
}

/// Most samples that are looked at; pairs grow with the square.
const MOST: usize = 1000;

/// The trend of samples; `None` for fewer than eight.
pub fn drift(samples: &[f64]) -> Option<Drift> {
    let middle = median(samples)?;
    let step = samples.len().div_ceil(MOST);
    let thinned: Vec<f64> = samples.iter().copied().step_by(step.max(1)).collect();
    let n = thinned.len();
    if n < 8 || middle <= 0.0 {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut balance = 0i64;
    for (i, early) in thinned.iter().enumerate() {
        for (gap, late) in thinned.iter().skip(i + 1).enumerate() {
            let difference = late - early;
            slopes.push(difference / (gap + 1) as f64);
            balance += i64::from(difference > 0.0) - i64::from(difference < 0.0);
        }
    }
    let n = n as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    Some(Drift {
        change: median(&slopes)? * (n - 1.0) / middle,
        significance: balance as f64 / variance.sqrt(),
    })
}

/// Samples in two groups with a gap between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// The lower group's median.
    pub low: f64,
    /// The upper group's median.
    pub high: f64,
    /// The part of samples in the upper group.
    pub part_high: f64,
}

/// The two groups of samples, if there are two: the division in which the groups' own spread is least, if each holds at
/// least a tenth of the samples and their means are further apart than five times their spread.
///
/// A normal distribution cut in two has a distance of 2.6 by this measure, an even one of 3.5.
pub fn modes(samples: &[f64]) -> Option<Modes> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = median(samples)?;
    let n = sorted.len();
    let least = n.div_ceil(10).max(2);
    let sums = |values: &[f64]| {
        values.iter().fold((0.0, 0.0), |(sum, squares), value| {
            let value = value - middle;
            (sum + value, squares + value * value)
        })
    };
    let (all_sum, all_squares) = sums(&sorted);
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best: Option<(f64, usize, f64)> = None;
    for (place, value) in sorted.iter().enumerate() {
        let (low, high) = (place as f64, (n - place) as f64);
        if place >= least && n - place >= least {
            let spread_low = squares - sum * sum / low;
            let rest = all_sum - sum;
            let spread_high = all_squares - squares - rest * rest / high;
            let within = (spread_low + spread_high).max(0.0);
            let apart = (rest / high - sum / low).abs();
            let variance = (spread_low / low + spread_high / high).max(0.0);
            let distance = if apart == 0.0 {
                0.0
            } else {
                apart / (variance / 2.0).sqrt()
            };
            if best.is_none_or(|(least, _, _)| within < least) {
                best = Some((within, place, distance));
            }
        }
        let shifted = value - middle;
        sum += shifted;
        squares += shifted * shifted;
    }
    let (_, place, distance) = best?;
    let (low, high) = sorted.split_at_checked(place)?;
    // Groups of one number each have no spread at all; a hundredth of a per cent apart is still one group.
    let (low_median, high_median) = (median(low)?, median(high)?);
    let apart =
        high_median - low_median > 1e-4 * middle.abs() && high_median - low_median > mad(low)?;
    (distance > 5.0 && apart).then_some(Modes {
        low: low_median,
        high: high_median,
        part_high: high.len() as f64 / n as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn noise(seed: u64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| 100.0 + random.normal()).collect()
    }

    #[test]
    fn steady_samples_do_not_drift() {
        let wrong = (0..200).filter(|&seed| {
            let drift = drift(&noise(seed, 100)).unwrap();
            drift.is_slowing() || drift.is_warming_up()
        });
        assert_eq!(wrong.count(), 0);
    }

    #[test]
    fn a_sinking_clock_is_seen_and_measured() {
        let samples: Vec<f64> = noise(1, 200)
            .iter()
            .enumerate()
            .map(|(i, x)| x + 0.1 * i as f64)
            .collect();
        let drift = drift(&samples).unwrap();
        assert!(drift.is_slowing(), "{drift:?}");
        assert!((drift.change - 19.9 / 110.0).abs() < 0.01, "{drift:?}");
        let rising: Vec<f64> = samples.into_iter().rev().collect();
        assert!(super::drift(&rising).unwrap().is_warming_up());
    }

    #[test]
    fn a_step_in_the_middle_is_a_drift_and_two_modes() {
        let mut samples = noise(2, 60);
        samples.extend(noise(3, 60).iter().map(|x| x * 1.3));
        assert!(drift(&samples).unwrap().is_slowing());
        let modes = modes(&samples).unwrap();
        assert!(
            (modes.low - 100.0).abs() < 1.0 && (modes.high - 130.0).abs() < 1.5,
            "{modes:?}"
        );
        assert!((modes.part_high - 0.5).abs() < 0.02, "{modes:?}");
    }

    #[test]
    fn one_mode_is_not_two() {
        let mut random = Random::new(4);
        let exponential = |random: &mut Random| 10.0 - (1.0 - random.unit()).ln();
        for seed in 0..50 {
            assert_eq!(modes(&noise(seed, 100)), None, "normal");
            let even: Vec<f64> = (0..100).map(|_| 5.0 + random.unit()).collect();
            assert_eq!(modes(&even), None, "even");
            let tail: Vec<f64> = (0..100).map(|_| exponential(&mut random)).collect();
            assert_eq!(modes(&tail), None, "tail");
        }
        assert_eq!(modes(&[7.0; 30]), None);
    }

    #[test]
    fn a_few_outliers_are_no_mode() {
        let mut samples = noise(6, 95);
        samples.extend([300.0; 5]);
        assert_eq!(modes(&samples), None);
    }
}

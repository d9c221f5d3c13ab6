//! What samples of a time say, and what they do not.
//!
//! Times of a GPU are not normally distributed: they have a hard floor, a tail of disturbances, and now and then two
//! modes because the clock changed. So everything here is about medians and ranks. All functions are pure; where samples
//! are drawn again it is with a fixed seed, so the same samples give the same interval.
//!
//! ```
//! use assay_bench::stats::{self, Order};
//! let old: Vec<f64> = (0..40).map(|i| 10.0 + 0.01 * f64::from(i % 7)).collect();
//! let new: Vec<f64> = old.iter().map(|time| time * 0.9).collect();
//! let comparison = stats::compare(&old, &new, 0.01).unwrap();
//! assert_eq!(comparison.order, Order::SecondFaster);
//! assert!((comparison.ratio.value - 10.0 / 9.0).abs() < 0.01);
//! ```

mod compare;
mod race;
mod shape;
mod stop;

pub use compare::{Comparison, Order, compare};
pub use race::{FEWEST as FEWEST_PAIRS, LEVEL as RACE_LEVEL, race};
pub use shape::{Drift, Modes, drift, modes};
pub use stop::{Stop, StopRule};

/// How often an interval holds the true value.
pub const LEVEL: f64 = 0.95;

/// A value with the interval that covers it at [`LEVEL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// The value itself.
    pub value: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half its width, relative to the value.
    pub fn relative(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value.abs()
    }

    /// Whether a number lies in it.
    pub fn contains(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

/// Samples in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// The median, with its interval.
    pub median: Interval,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The median distance from the median, scaled so that it is the standard deviation of normal samples.
    pub deviation: f64,
    /// How many lie further from the median than 3.5 deviations.
    pub outliers: usize,
}

impl Summary {
    /// The summary of samples that are all finite; `None` for none.
    ///
    /// ```
    /// use assay_bench::stats::Summary;
    /// let summary = Summary::of(&[3.0, 1.0, 2.0, 100.0, 2.0]).unwrap();
    /// assert_eq!((summary.median.value, summary.min, summary.outliers), (2.0, 1.0, 1));
    /// assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
    /// ```
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples)?;
        let value = middle(&sorted);
        let deviation = deviation(&sorted, value);
        Some(Self {
            count: sorted.len(),
            min: *sorted.first()?,
            median: rank_interval(&sorted)?,
            mean: samples.iter().sum::<f64>() / samples.len() as f64,
            max: *sorted.last()?,
            deviation,
            outliers: sorted
                .iter()
                .filter(|sample| is_outlier(**sample, value, deviation))
                .count(),
        })
    }
}

/// The median; `None` for no samples or ones that are not finite.
pub fn median(samples: &[f64]) -> Option<f64> {
    sorted(samples).map(|sorted| middle(&sorted))
}

/// The median distance from the median, times 1.4826; `None` for no samples.
pub fn mad(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples)?;
    Some(deviation(&sorted, middle(&sorted)))
}

/// The interval of the median of sorted samples, by ranks: whatever the distribution, it holds the true median at least
/// as often as [`LEVEL`] says. With fewer than six samples no interval does; then it is all of them.
fn rank_interval(sorted: &[f64]) -> Option<Interval> {
    let n = sorted.len();
    let left_out = left_out(n);
    Some(Interval {
        low: *sorted.get(left_out)?,
        value: middle(sorted),
        high: *sorted.get(n - 1 - left_out)?,
    })
}

/// How many samples to leave out at either end. The true median lies below the sample after them when at most so many
/// fall below it, as many as heads in `n` throws of a coin; that may happen as often as an interval may miss at one
/// end.
fn left_out(n: usize) -> usize {
    left_out_at(n, LEVEL)
}

/// The same for an interval of another level.
fn left_out_at(n: usize, level: f64) -> usize {
    let tail = (1.0 - level) / 2.0;
    if n > 1000 {
        // Normal from here on; half to the power of n is no longer a number. 1.96 deviations at 95 %, 3.1 beyond.
        let deviations = if level > LEVEL { 3.1 } else { 1.96 };
        let distance = deviations / 2.0 * (n as f64).sqrt();
        return (n as f64 / 2.0 - distance).floor() as usize - 1;
    }
    let mut probability = 0.5f64.powi(n as i32);
    let mut total = 0.0;
    for heads in 0..n {
        total += probability;
        if total > tail {
            return heads.saturating_sub(1);
        }
        probability *= (n - heads) as f64 / (heads + 1) as f64;
    }
    0
}

/// The interval that leaves out the same part of resampled values at either end.
fn resampled_interval(value: f64, values: &[f64]) -> Option<Interval> {
    let sorted = sorted(values)?;
    let tail = (1.0 - LEVEL) / 2.0;
    let at = |part: f64| {
        let place = (part * (sorted.len() - 1) as f64).round() as usize;
        sorted.get(place).copied()
    };
    Some(Interval {
        low: at(tail)?.min(value),
        value,
        high: at(1.0 - tail)?.max(value),
    })
}

fn sorted(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The median of sorted samples: the mean of the two in the middle when their number is even.
fn middle(sorted: &[f64]) -> f64 {
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    let half = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (at(half.wrapping_sub(1)) + at(half)) / 2.0
    } else {
        at(half)
    }
}

fn deviation(sorted: &[f64], middle_: f64) -> f64 {
    let mut distances: Vec<f64> = sorted
        .iter()
        .map(|sample| (sample - middle_).abs())
        .collect();
    distances.sort_by(f64::total_cmp);
    1.4826 * middle(&distances)
}

fn is_outlier(sample: f64, median: f64, deviation: f64) -> bool {
    (sample - median).abs() > 3.5 * deviation && sample != median
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn medians_of_even_and_odd_counts() {
        assert_eq!(median(&[5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::INFINITY]), None);
    }

    /// The example of Iglewicz and Hoaglin's method in NIST's handbook of statistics (1.3.5.17).
    #[test]
    fn outliers_are_those_of_the_handbook() {
        let samples = [2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3];
        let summary = Summary::of(&samples).unwrap();
        assert_eq!(summary.outliers, 2);
    }

    #[test]
    fn the_deviation_of_normal_samples_is_their_standard_deviation() {
        let mut random = Random::new(5);
        let samples: Vec<f64> = (0..20_000).map(|_| 50.0 + 3.0 * random.normal()).collect();
        let deviation = mad(&samples).unwrap();
        assert!((deviation - 3.0).abs() < 0.1, "{deviation}");
    }

    /// Of intervals at 95 %, about 95 of 100 hold the true median.
    #[test]
    fn intervals_hold_the_true_median_as_often_as_they_say() {
        let mut random = Random::new(9);
        let held = (0..400).filter(|_| {
            // A skewed distribution, like times: the median of an exponential one is log 2.
            let samples: Vec<f64> = (0..60).map(|_| -(1.0 - random.unit()).ln()).collect();
            Summary::of(&samples)
                .unwrap()
                .median
                .contains(std::f64::consts::LN_2)
        });
        let held = held.count();
        assert!((372..=398).contains(&held), "{held} of 400");
        // Ranks from tables of the sign test at 95 %.
        assert_eq!([5, 6, 10, 20, 50, 100].map(left_out), [0, 0, 1, 5, 17, 39]);
        assert_eq!(left_out(1001), left_out(1000));
    }

    #[test]
    fn the_same_samples_give_the_same_interval() {
        let samples: Vec<f64> = (0..37).map(|i| f64::from(i * i % 11)).collect();
        assert_eq!(Summary::of(&samples), Summary::of(&samples));
        let constant = Summary::of(&[2.0; 9]).unwrap();
        assert_eq!(
            (constant.median.low, constant.median.high, constant.outliers),
            (2.0, 2.0, 0)
        );
    }
}

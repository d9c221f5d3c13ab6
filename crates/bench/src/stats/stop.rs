//! When enough samples have been taken.

use super::{Summary, median};
use std::time::Duration;

/// When to stop taking samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    /// Never before so many.
    pub least: usize,
    /// Never more than so many.
    pub most: usize,
    /// When half the interval of the median is below this part of it: 0.005 is 0.5 %.
    pub precision: f64,
    /// When it has taken so long.
    pub time: Duration,
}

impl Default for StopRule {
    fn default() -> Self {
        Self {
            least: 20,
            most: 1000,
            precision: 0.005,
            time: Duration::from_secs(10),
        }
    }
}

/// Why sampling stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The median is as precise as was asked.
    Precise,
    /// As many samples as allowed, and the median is not as precise as was asked.
    Samples,
    /// As much time as allowed, and the median is not as precise as was asked.
    Time,
}

impl StopRule {
    /// Whether to stop now, and why.
    ///
    /// ```
    /// use assay_bench::stats::{Stop, StopRule};
    /// use std::time::Duration;
    /// let rule = StopRule { least: 5, ..StopRule::default() };
    /// assert_eq!(rule.decide(&[1.0; 4], Duration::ZERO), None);
    /// assert_eq!(rule.decide(&[1.0; 5], Duration::ZERO), Some(Stop::Precise));
    /// assert_eq!(rule.decide(&[1.0, 2.0, 3.0, 4.0, 5.0], Duration::from_secs(60)), Some(Stop::Time));
    /// ```
    pub fn decide(&self, samples: &[f64], elapsed: Duration) -> Option<Stop> {
        let out_of_time = elapsed >= self.time;
        if samples.len() < self.least.max(2) {
            return (out_of_time && !samples.is_empty()).then_some(Stop::Time);
        }
        // Who looks after every sample stops at the first that looks good by chance, so looks are a tenth apart.
        let due = samples.len() == self.least.max(2)
            || samples.len().is_multiple_of((samples.len() / 10).max(1))
            || samples.len() >= self.most
            || out_of_time;
        if due && self.is_precise(samples) {
            return Some(Stop::Precise);
        }
        if samples.len() >= self.most {
            return Some(Stop::Samples);
        }
        out_of_time.then_some(Stop::Time)
    }

    fn is_precise(&self, samples: &[f64]) -> bool {
        median(samples).is_some_and(|median| median > 0.0)
            && Summary::of(samples)
                .is_some_and(|summary| summary.median.relative() <= self.precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn samples_needed(noise: f64) -> (usize, Stop) {
        let rule = StopRule::default();
        let mut random = Random::new(3);
        let mut samples = Vec::new();
        loop {
            samples.push(10.0 * (1.0 + noise * random.normal()));
            if let Some(stop) = rule.decide(&samples, Duration::ZERO) {
                return (samples.len(), stop);
            }
        }
    }

    #[test]
    fn noisier_samples_need_more() {
        let (quiet, _) = samples_needed(0.002);
        let (noisy, why) = samples_needed(0.03);
        assert_eq!(quiet, 20);
        // Half the interval of a median is about 2.46 σ / √n: (2.46 × 0.03 / 0.005)² is some 200.
        assert!((100..400).contains(&noisy), "{noisy}");
        assert_eq!(why, Stop::Precise);
    }

    #[test]
    fn hopeless_samples_end_by_number() {
        assert_eq!(samples_needed(0.5), (1000, Stop::Samples));
    }
}

//! Two sets of samples against each other.

use super::{Interval, median, resampled_interval};
use crate::random::Random;

/// With fewer samples than this on either side nothing is certain.
const FEWEST: usize = 5;

/// How often samples are drawn again for an interval.
const RESAMPLES: usize = 1000;

/// How two sets of times compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The first median divided by the second: how many times faster the second is.
    pub ratio: Interval,
    /// What that means.
    pub order: Order,
}

/// Which of two is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first.
    FirstFaster,
    /// The second.
    SecondFaster,
    /// The interval of the ratio holds 1, the difference is smaller than what counts, or there are too few samples to
    /// tell.
    Tie,
}

impl Order {
    /// What an interval of the ratio first to second says, given enough samples and the least difference that counts.
    pub(super) fn of(ratio: &Interval, enough: bool, least: f64) -> Self {
        if !enough {
            Order::Tie
        } else if ratio.low > 1.0 && ratio.value - 1.0 >= least {
            Order::SecondFaster
        } else if ratio.high < 1.0 && 1.0 / ratio.value - 1.0 >= least {
            Order::FirstFaster
        } else {
            Order::Tie
        }
    }
}

/// Compares two sets of times. Where there are as many of one as of the other they are taken as pairs, measured in
/// turns, and drawn again together: what disturbs both of a pair then cancels. A difference of less than `least`
/// (0.01 is 1 %) is a tie even when it is certain.
pub fn compare(first: &[f64], second: &[f64], least: f64) -> Option<Comparison> {
    let ratio_of = |first: &[f64], second: &[f64]| {
        let (a, b) = (median(first)?, median(second)?);
        (a > 0.0 && b > 0.0).then(|| a / b)
    };
    let value = ratio_of(first, second)?;
    let paired = first.len() == second.len();
    let mut random = Random::new((first.len() as u64) << 32 | second.len() as u64);
    let mut ratios = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut places = |count: usize| -> Vec<usize> {
            (0..count)
                .map(|_| random.below(count as u64) as usize)
                .collect()
        };
        let of_first = places(first.len());
        let of_second = if paired {
            of_first.clone()
        } else {
            places(second.len())
        };
        let drawn = |samples: &[f64], places: &[usize]| -> Vec<f64> {
            places
                .iter()
                .filter_map(|place| samples.get(*place).copied())
                .collect()
        };
        ratios.extend(ratio_of(
            &drawn(first, &of_first),
            &drawn(second, &of_second),
        ));
    }
    let ratio = resampled_interval(value, &ratios)?;
    let enough = first.len().min(second.len()) >= FEWEST;
    let order = Order::of(&ratio, enough, least);
    Some(Comparison { ratio, order })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times with a floor and a tail.
    fn times(seed: u64, floor: f64, count: usize) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count)
            .map(|_| floor * (1.0 + 0.05 * -(1.0 - random.unit()).ln()))
            .collect()
    }

    #[test]
    fn the_same_kernel_measured_twice_is_a_tie() {
        let wrong = (0..200).filter(|&seed| {
            let comparison = compare(
                &times(2 * seed, 10.0, 50),
                &times(2 * seed + 1, 10.0, 50),
                0.0,
            )
            .unwrap();
            comparison.order != Order::Tie
        });
        let wrong = wrong.count();
        assert!(
            wrong <= 20,
            "{wrong} of 200 called different, expected about 10"
        );
    }

    #[test]
    fn a_difference_of_five_per_cent_is_found_both_ways() {
        for seed in 0..50 {
            let (slow, fast) = (times(seed, 10.5, 60), times(seed + 1000, 10.0, 60));
            assert_eq!(
                compare(&slow, &fast, 0.01).unwrap().order,
                Order::SecondFaster
            );
            assert_eq!(
                compare(&fast, &slow, 0.01).unwrap().order,
                Order::FirstFaster
            );
        }
    }

    #[test]
    fn a_certain_but_tiny_difference_is_a_tie() {
        let slow = times(1, 10.0, 60);
        let fast: Vec<f64> = slow.iter().map(|time| time * 0.999).collect();
        assert_eq!(compare(&slow, &fast, 0.01).unwrap().order, Order::Tie);
        assert_eq!(
            compare(&slow, &fast, 0.0).unwrap().order,
            Order::SecondFaster
        );
    }

    #[test]
    fn what_slows_both_of_a_pair_cancels() {
        // The clock sinks by a third while both are measured in turns.
        let (a, b) = (times(3, 10.0, 80), times(4, 10.4, 80));
        let sinking = |times: &[f64]| -> Vec<f64> {
            let slowed = times.iter().enumerate();
            slowed
                .map(|(i, time)| time * (1.0 + 0.5 * i as f64 / 80.0))
                .collect()
        };
        let comparison = compare(&sinking(&a), &sinking(&b), 0.01).unwrap();
        assert_eq!(comparison.order, Order::FirstFaster, "{comparison:?}");
    }

    #[test]
    fn a_few_samples_tell_nothing() {
        let (slow, fast) = ([2.0; 4], [1.0; 4]);
        assert_eq!(compare(&slow, &fast, 0.01).unwrap().order, Order::Tie);
        let (slow, fast) = ([2.0; 5], [1.0; 5]);
        assert_eq!(
            compare(&slow, &fast, 0.01).unwrap().order,
            Order::SecondFaster
        );
    }

    #[test]
    fn no_time_at_all_compares_with_nothing() {
        assert_eq!(compare(&[0.0, 0.0], &[1.0, 1.0], 0.0), None);
        assert_eq!(compare(&[], &[1.0], 0.0), None);
    }
}

//! Whether one of two kernels that took turns is faster.
//!
//! A record changes hands by this decision, so it must hardly ever be wrong about two kernels that are the same. Samples
//! are pairs: both of a pair were taken side by side, in an order decided by a coin, so whatever slows the machine for
//! longer than a pair slows both, and the ratio of a pair of equal kernels is as often above 1 as below. That is all the
//! decision assumes. The interval of the median ratio is by ranks, at [`LEVEL`]: its lower end above 1 is as unlikely for
//! equal kernels as that many more heads than tails.

use super::{Comparison, Interval, Order, sorted};

/// How often the interval holds the true ratio.
pub const LEVEL: f64 = 0.998;

/// With fewer pairs nothing is certain.
pub const FEWEST: usize = 12;

/// Compares times taken in turns, the first of each pair by one kernel, the second by another. The ratio says how many
/// times faster the second is. A difference of less than `least` (0.01 is 1 %) is a tie even when it is certain. `None`
/// without pairs, or with times that are none.
///
/// ```
/// use assay_bench::stats::{Order, race};
/// // A machine that gets slower and slower; the second kernel takes 5 % less than the first each time.
/// let first: Vec<f64> = (0..40).map(|i| 1.0 + 0.02 * f64::from(i)).collect();
/// let second: Vec<f64> = first.iter().map(|time| time / 1.05).collect();
/// assert_eq!(race(&first, &second, 0.01).unwrap().order, Order::SecondFaster);
/// assert_eq!(race(&first, &first, 0.01).unwrap().order, Order::Tie);
/// ```
pub fn race(first: &[f64], second: &[f64], least: f64) -> Option<Comparison> {
    let is_time = |time: &f64| time.is_finite() && *time > 0.0;
    if !first.iter().chain(second).all(is_time) {
        return None;
    }
    let ratios: Vec<f64> = first.iter().zip(second).map(|(a, b)| a / b).collect();
    let ratios = sorted(&ratios)?;
    let n = ratios.len();
    let left_out = super::left_out_at(n, LEVEL);
    let ratio = Interval {
        low: *ratios.get(left_out)?,
        value: super::middle(&ratios),
        high: *ratios.get(n - 1 - left_out)?,
    };
    let order = Order::of(&ratio, n >= FEWEST, least);
    Some(Comparison { ratio, order })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Times of a machine whose noise comes in stretches: a slow drift, disturbances that last for several samples, and
    /// a tail on each sample. Both of a pair are taken one after the other, in either order.
    fn pairs(seed: u64, count: usize, faster: f64, noise: f64) -> (Vec<f64>, Vec<f64>) {
        let mut random = Random::new(seed);
        let (mut speed, mut busy) = (1.0, 0usize);
        let mut times = (Vec::new(), Vec::new());
        let mut sample = |random: &mut Random| {
            speed *= 1.0 + 0.003 * random.normal();
            if busy > 0 {
                busy -= 1;
            } else if random.below(30) == 0 {
                busy = random.below(12) as usize;
            }
            let slowed = if busy > 0 { 1.6 } else { 1.0 };
            speed * slowed * (1.0 - noise * (1.0 - random.unit()).ln())
        };
        for _ in 0..count {
            let (a, b) = (sample(&mut random), sample(&mut random));
            let (a, b) = if random.below(2) == 0 { (a, b) } else { (b, a) };
            times.0.push(a);
            times.1.push(b / faster);
        }
        times
    }

    fn records(runs: u64, count: usize, faster: f64, noise: f64) -> usize {
        let is_record = |seed: &u64| {
            let (holder, challenger) = pairs(*seed, count, faster, noise);
            let found = race(&holder, &challenger, 0.01).unwrap();
            found.order == Order::SecondFaster
        };
        (0..runs).filter(is_record).count()
    }

    #[test]
    fn of_3000_races_of_equal_kernels_at_most_10_are_called_faster() {
        for (count, noise) in [(20, 0.02), (60, 0.05), (200, 0.15)] {
            let wrong = records(3000, count, 1.0, noise);
            assert!(wrong <= 10, "{wrong} of 3000 with {count} samples");
        }
    }

    #[test]
    fn a_gain_of_five_per_cent_is_found() {
        for (count, noise) in [(20, 0.01), (40, 0.03), (200, 0.05)] {
            let found = records(500, count, 1.05, noise);
            assert!(found >= 450, "{found} of 500 with {count} samples");
        }
    }

    /// A board asks for three races.
    #[test]
    fn three_races_are_won_by_a_gain_of_five_per_cent_in_four_of_five_tries_and_never_by_chance() {
        let all_won = |tries: u64, count, faster, noise| {
            let won = |seed: u64| {
                let (holder, challenger) = pairs(seed, count, faster, noise);
                let found = race(&holder, &challenger, 0.01);
                found.is_some_and(|found| found.order == Order::SecondFaster)
            };
            let tries = (0..tries).filter(|number| (3 * number..3 * number + 3).all(won));
            tries.count()
        };
        for (count, noise) in [(20, 0.01), (40, 0.03), (200, 0.05)] {
            let found = all_won(500, count, 1.05, noise);
            assert!(found >= 400, "{found} of 500 with {count} samples");
            assert_eq!(all_won(3000, count, 1.0, noise), 0);
        }
    }

    #[test]
    fn a_few_pairs_tell_nothing() {
        assert_eq!(
            race(&[2.0; 11], &[1.0; 11], 0.01).unwrap().order,
            Order::Tie
        );
        assert_eq!(
            race(&[2.0; 12], &[1.0; 12], 0.01).unwrap().order,
            Order::SecondFaster
        );
        assert_eq!(race(&[], &[], 0.01), None);
        assert_eq!(race(&[0.0; 20], &[1.0; 20], 0.01), None);
    }
}

//! The numbers of an argument that a description says the kind of (`values = "normal"`), one at a time.
//!
//! A number follows from a seed and its place alone, so that whoever touches a part of an argument makes only that part,
//! and sees what everybody else sees.

use crate::fill::mix;
use crate::launch::{Argument, Role};
use crate::{Dtype, Values};
use std::f64::consts::TAU;
use std::ops::Range;

/// The numbers of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Series {
    /// What they are like.
    pub values: Values,
    /// Numbers of a row.
    pub columns: u64,
    /// Indices are below this.
    pub below: u64,
    /// A factor.
    pub scale: f64,
    /// Their type.
    pub dtype: Dtype,
    /// Picks the numbers.
    pub seed: u64,
}

/// What random bits are for, where an element takes more than its own two words, and a row has some.
#[derive(Clone, Copy)]
enum Use {
    Sign = 1,
    Row = 2,
    Order = 3,
}

impl Series {
    /// The numbers of an argument, the `place`th input of a launch; none for what is not an input.
    pub fn of(argument: &Argument, seed: u64, place: u64) -> Option<Series> {
        let Role::Input {
            shape,
            values,
            below,
            scale,
            ..
        } = &argument.role
        else {
            return None;
        };
        Some(Series {
            values: *values,
            columns: shape.last().copied().unwrap_or(1).max(1) as u64,
            below: *below,
            scale: *scale,
            dtype: argument.dtype,
            seed: mix(seed, place),
        })
    }

    /// The numbers of some places, not rounded to their type.
    pub fn numbers(&self, places: Range<u64>) -> Vec<f64> {
        let mut total = (u64::MAX, 0.0);
        let mut number = |place: u64| {
            let (row, column) = (place / self.columns, place % self.columns);
            let is_share = matches!(self.values, Values::Probability | Values::LogProbability);
            if is_share && total.0 != row {
                let first = row * self.columns;
                let weights = (first..first + self.columns).map(|place| self.weight(place));
                total = (row, weights.sum());
            }
            self.number(place, row, column, total.1)
        };
        places.map(&mut number).collect()
    }

    fn number(&self, place: u64, row: u64, column: u64, total: f64) -> f64 {
        match self.values {
            Values::Normal => self.normal(place) * self.scale,
            Values::Uniform => (2.0 * self.unit(place) - 1.0) * self.scale,
            Values::Positive => (self.normal(place).abs() * self.scale).max(1.0 / 1024.0),
            Values::NearOne => {
                let negative = self.bits(Use::Sign, place).is_multiple_of(16);
                let sign = if negative { -1.0 } else { 1.0 };
                sign * (1.0 + 0.02 * self.normal(place))
            }
            Values::Index => below(mix(self.seed, 2 * place), self.below) as f64,
            Values::Mask => self.bit(place),
            Values::AdditiveMask => {
                let open = column == below(self.bits(Use::Row, row), self.columns);
                if open || self.bit(place) == 0.0 {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            Values::OneHot => {
                let hot = below(self.bits(Use::Row, row), self.columns);
                if column == hot { 1.0 } else { 0.0 }
            }
            Values::Sign => 2.0 * self.bit(place) - 1.0,
            Values::Probability => self.weight(place) / total,
            Values::LogProbability => (self.weight(place) / total).ln(),
            Values::Distinct => {
                let place = self.shuffled(row, column);
                (place as f64 - self.columns as f64 / 2.0) * self.scale
            }
        }
    }

    fn weight(&self, place: u64) -> f64 {
        (self.normal(place) * self.scale).exp()
    }

    fn bits(&self, use_: Use, place: u64) -> u64 {
        mix(mix(self.seed, u64::MAX - use_ as u64), place)
    }

    fn bit(&self, place: u64) -> f64 {
        (mix(self.seed, 2 * place) >> 63) as f64
    }

    /// Evenly from 0 up to 1, without 1.
    fn unit(&self, place: u64) -> f64 {
        unit(mix(self.seed, 2 * place))
    }

    /// Normally distributed with mean 0 and variance 1.
    fn normal(&self, place: u64) -> f64 {
        // Box and Muller; the logarithm's argument is never 0.
        let radius = (-2.0 * (1.0 - self.unit(place)).ln()).sqrt();
        radius * (TAU * unit(mix(self.seed, 2 * place + 1))).cos()
    }

    /// Where a column goes in the random order of a row: four rounds of a Feistel network over an even number of bits,
    /// repeated until the result is a column.
    fn shuffled(&self, row: u64, column: u64) -> u64 {
        let half = (u64::BITS - self.columns.leading_zeros())
            .div_ceil(2)
            .max(1);
        let mask = (1u64 << half) - 1;
        let key = self.bits(Use::Order, row);
        let mut place = column;
        loop {
            let (mut left, mut right) = (place >> half, place & mask);
            for round in 0..4 {
                (left, right) = (right, left ^ mix(key ^ round, right) & mask);
            }
            place = left << half | right;
            if place < self.columns {
                return place;
            }
        }
    }
}

fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: Values) -> Series {
        Series {
            values,
            columns: 100,
            below: 7,
            scale: 2.0,
            dtype: Dtype::F32,
            seed: 3,
        }
    }

    #[test]
    fn a_part_is_the_same_part_of_the_whole() {
        for values in [
            Values::Normal,
            Values::Probability,
            Values::Distinct,
            Values::AdditiveMask,
        ] {
            let whole = series(values).numbers(0..1000);
            assert_eq!(series(values).numbers(250..333), whole[250..333]);
        }
    }

    #[test]
    fn numbers_are_spread_as_they_should_be() {
        let numbers = series(Values::Normal).numbers(0..100_000);
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let deviation = (numbers.iter().map(|x| x * x).sum::<f64>() / 1e5).sqrt();
        assert!(
            mean.abs() < 0.03 && (deviation - 2.0).abs() < 0.02,
            "{mean} {deviation}"
        );
        let mut counts = [0; 7];
        let indices = series(Values::Index).numbers(0..70_000);
        indices
            .iter()
            .for_each(|index| counts[*index as usize] += 1);
        assert!(
            counts.iter().all(|count| (9_500..10_500).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn rows_are_what_their_kind_says() {
        let rows = |values| -> Vec<Vec<f64>> {
            let numbers = series(values).numbers(0..5000);
            numbers.chunks(100).map(<[f64]>::to_vec).collect()
        };
        for row in rows(Values::OneHot) {
            assert_eq!(row.iter().sum::<f64>(), 1.0);
        }
        for row in rows(Values::AdditiveMask) {
            assert!(row.contains(&0.0) && row.contains(&f64::NEG_INFINITY));
        }
        for row in rows(Values::Probability) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let distinct = rows(Values::Distinct);
        for row in &distinct {
            let mut sorted = row.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            assert_eq!(sorted.len(), 100);
            assert_ne!(&sorted, row);
        }
        assert_ne!(distinct[0], distinct[1]);
    }
}

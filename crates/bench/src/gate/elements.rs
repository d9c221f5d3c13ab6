//! A result beside what is right, element by element: how many are wrong, and which are furthest off.

use super::compare::allowed;
use crate::Dtype;
use crate::oracle::Answer;
use crate::registry::Tolerance;

/// How far elements may be off: within the tolerance, or so many units of the last place.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Relative to what went into an element, and in any case.
    pub tolerance: Tolerance,
    /// Units of the last place that are allowed besides.
    pub ulps: u64,
}

/// An element that is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Off {
    /// Its place.
    pub place: usize,
    /// What is right.
    pub expected: f64,
    /// What was computed.
    pub got: f64,
    /// How many units of the last place lie between them; none where one is not a number.
    pub ulps: Option<u64>,
    /// The error in units of what is allowed; infinite where nothing is, or where one is not a number.
    pub excess: f64,
}

/// All elements of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elements {
    /// How many there are.
    pub count: usize,
    /// How many are wrong; elements that are missing or too many are.
    pub wrong: usize,
    /// Those that are wrong, the worst first, as many as were asked for.
    pub worst: Vec<Off>,
    /// The largest error of those that are right, in units of what is allowed.
    pub largest: f64,
    /// The largest distance of all, in units of the last place.
    pub ulps: u64,
}

impl Elements {
    /// Compares the bytes of a result, and keeps the worst elements.
    ///
    /// ```
    /// use assay_bench::gate::{Elements, Limits};
    /// use assay_bench::{Dtype, oracle::Answer, registry::Tolerance};
    /// let tolerance = Tolerance { relative: 1e-6, absolute: 0.0, reason: String::new() };
    /// let limits = Limits { tolerance, ulps: 0 };
    /// let right = Answer::exact(vec![1.0, 2.0, 3.0]);
    /// let found = Elements::compare(&Dtype::F32.encode(&[1.0, 2.5, 4.0]), Dtype::F32, &right, &limits, 1);
    /// assert_eq!((found.wrong, found.worst[0].place), (2, 2));
    /// ```
    pub fn compare(
        bytes: &[u8],
        dtype: Dtype,
        right: &Answer,
        limits: &Limits,
        most: usize,
    ) -> Elements {
        let got = dtype.decode(bytes);
        let mut found = Elements {
            count: right.values.len(),
            wrong: right.values.len().abs_diff(got.len()),
            ..Elements::default()
        };
        let expected = right.values.iter().zip(&right.scale);
        for (place, (got, (expected, scale))) in got.into_iter().zip(expected).enumerate() {
            let expected = dtype.round(*expected);
            let off = off(place, got, expected, *scale, dtype, limits);
            found.ulps = found.ulps.max(off.ulps.unwrap_or(u64::MAX));
            if off.excess <= 1.0 || off.ulps.is_some_and(|ulps| ulps <= limits.ulps) {
                found.largest = found.largest.max(off.excess.min(1.0));
                continue;
            }
            found.wrong += 1;
            found.keep(off, most);
        }
        found
    }

    fn keep(&mut self, off: Off, most: usize) {
        let place = self
            .worst
            .partition_point(|known| known.excess >= off.excess);
        if place < most {
            self.worst.insert(place, off);
            self.worst.truncate(most);
        }
    }
}

fn off(place: usize, got: f64, expected: f64, scale: f64, dtype: Dtype, limits: &Limits) -> Off {
    let is_same = got == expected || got.is_nan() && expected.is_nan();
    let error = (got - expected).abs();
    let allowed = allowed(dtype, expected, scale, &limits.tolerance);
    let excess = match is_same {
        true => 0.0,
        false if error.is_finite() => error / allowed,
        false => f64::INFINITY,
    };
    Off {
        place,
        expected,
        got,
        ulps: match is_same {
            true => Some(0),
            false => dtype.ulps(got, expected),
        },
        excess,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(relative: f64, ulps: u64) -> Limits {
        let tolerance = Tolerance {
            relative,
            absolute: 0.0,
            reason: String::new(),
        };
        Limits { tolerance, ulps }
    }

    #[test]
    fn units_of_the_last_place_are_allowed_where_the_tolerance_is_not_met() {
        let right = Answer::exact(vec![1.0; 3]);
        let next = f64::from(1.0f32.next_up());
        let far = f64::from(1.0f32.next_up().next_up());
        let bytes = Dtype::F32.encode(&[1.0, next, far]);
        let found = Elements::compare(&bytes, Dtype::F32, &right, &limits(0.0, 1), 8);
        assert_eq!((found.wrong, found.worst[0].place, found.ulps), (1, 2, 2));
        let found = Elements::compare(&bytes, Dtype::F32, &right, &limits(1e-6, 0), 8);
        assert_eq!(found.wrong, 0);
    }

    #[test]
    fn what_is_not_a_number_and_what_is_missing_is_wrong() {
        let right = Answer::exact(vec![1.0, f64::NAN, 1.0, 1.0]);
        let bytes = Dtype::F32.encode(&[f64::NAN, f64::NAN, f64::INFINITY]);
        let found = Elements::compare(&bytes, Dtype::F32, &right, &limits(1.0, 0), 8);
        assert_eq!((found.count, found.wrong), (4, 3));
    }
}

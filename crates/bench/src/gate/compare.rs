//! Every element of a result against what is right.

use super::coverage::Coverage;
use crate::Dtype;
use crate::oracle::Answer;
use crate::registry::Tolerance;
use crate::runner::is_unwritten;
use std::fmt;

/// How a result compares with what is right.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Elements there are.
    pub elements: usize,
    /// Elements that were compared with the oracle; the others were only looked at.
    pub compared: usize,
    /// Elements that are off by more than allowed, unwritten ones included.
    pub wrong: usize,
    /// Elements that were never written.
    pub unwritten: usize,
    /// Elements that are NaN or infinite and should not be, or the other way round.
    pub not_finite: usize,
    /// The largest error.
    pub max_absolute: f64,
    /// The largest error relative to the element's scale; errors of elements whose scale is 0 are not among them.
    pub max_relative: f64,
    /// The element furthest beyond what is allowed, or nearest to it.
    pub worst: Option<Element>,
    /// Distances in units of the last place.
    pub ulps: Ulps,
}

/// An element of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// Its place.
    pub place: usize,
    /// What the kernel says.
    pub got: f64,
    /// What is right.
    pub expected: f64,
    /// By how much it may be off.
    pub allowed: f64,
}

/// How many elements are how many units of the last place away: 0, 1, 2 to 3, 4 to 7 and so on; the last counts all
/// beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ulps {
    /// Counts.
    pub counts: [usize; 16],
}

impl Ulps {
    fn add(&mut self, distance: u64) {
        let class = (u64::BITS - distance.leading_zeros()) as usize;
        let last = self.counts.len() - 1;
        if let Some(count) = self.counts.get_mut(class.min(last)) {
            *count += 1;
        }
    }

    /// The smallest distance that covers this part of all elements, as the upper end of its class.
    ///
    /// ```
    /// use assay_bench::gate::Ulps;
    /// let mut counts = [0; 16];
    /// (counts[0], counts[1], counts[3]) = (50, 40, 10);
    /// let ulps = Ulps { counts };
    /// assert_eq!((ulps.covering(0.5), ulps.covering(0.9), ulps.covering(1.0)), (0, 1, 7));
    /// ```
    pub fn covering(&self, part: f64) -> u64 {
        let all: usize = self.counts.iter().sum();
        let needed = (part.clamp(0.0, 1.0) * all as f64).ceil() as usize;
        let mut covered = 0;
        for (class, count) in self.counts.iter().enumerate() {
            covered += count;
            if covered >= needed {
                return (1 << class) - 1;
            }
        }
        u64::MAX
    }
}

impl Comparison {
    /// Compares the bytes of an output.
    pub fn new(bytes: &[u8], dtype: Dtype, answer: &Answer, tolerance: &Tolerance) -> Self {
        Self::covering(bytes, dtype, answer, tolerance, &Coverage::ALL)
    }

    /// Compares the part of an output that is covered. Everything else must be written, and finite if all of what is
    /// covered should be.
    pub fn covering(
        bytes: &[u8],
        dtype: Dtype,
        answer: &Answer,
        tolerance: &Tolerance,
        coverage: &Coverage,
    ) -> Self {
        let got = dtype.decode(bytes);
        let finite = coverage.is_all()
            || coverage
                .places(answer.values.len())
                .all(|place| answer.values.get(place).is_some_and(|it| it.is_finite()));
        let mut comparison = Self {
            elements: answer.values.len(),
            compared: 0,
            // Elements that are not there at all.
            wrong: answer.values.len().abs_diff(got.len()),
            unwritten: 0,
            not_finite: 0,
            max_absolute: 0.0,
            max_relative: 0.0,
            worst: None,
            ulps: Ulps::default(),
        };
        let mut furthest = -1.0;
        let expected = answer.values.iter().zip(&answer.scale);
        let elements = bytes.chunks_exact(dtype.size()).zip(got).zip(expected);
        let mut covered = coverage.places(answer.values.len()).peekable();
        for (place, ((raw, got), (&expected, &scale))) in elements.enumerate() {
            if covered.next_if_eq(&place).is_none() {
                comparison.present(raw, got, finite);
                continue;
            }
            comparison.compared += 1;
            let expected = dtype.round(expected);
            let allowed = allowed(dtype, expected, scale, tolerance);
            let distance = comparison.element(raw, got, expected, scale, dtype);
            let beyond = if distance.is_nan() {
                f64::INFINITY
            } else {
                excess(distance, allowed)
            };
            comparison.wrong += usize::from(beyond > 1.0);
            if beyond > furthest {
                furthest = beyond;
                comparison.worst = Some(Element {
                    place,
                    got,
                    expected,
                    allowed,
                });
            }
        }
        comparison
    }

    /// Whether all elements are right.
    pub fn is_right(&self) -> bool {
        self.wrong == 0
    }

    /// Looks at an element that is not compared.
    fn present(&mut self, raw: &[u8], got: f64, finite: bool) {
        let unwritten = is_unwritten(raw);
        let not_finite = finite && !got.is_finite() && !unwritten;
        self.unwritten += usize::from(unwritten);
        self.not_finite += usize::from(not_finite);
        self.wrong += usize::from(unwritten || not_finite);
    }

    /// Counts an element, and gives its error; NaN when it cannot be right.
    fn element(&mut self, raw: &[u8], got: f64, expected: f64, scale: f64, dtype: Dtype) -> f64 {
        if is_unwritten(raw) {
            self.unwritten += 1;
            return f64::NAN;
        }
        if !got.is_finite() || !expected.is_finite() {
            let same = got == expected || (got.is_nan() && expected.is_nan());
            self.not_finite += usize::from(!same);
            return if same { 0.0 } else { f64::NAN };
        }
        let error = (got - expected).abs();
        self.max_absolute = self.max_absolute.max(error);
        // Relative to nothing, an error is neither small nor large: the absolute one says it.
        let relative = error / scale;
        if relative.is_finite() {
            self.max_relative = self.max_relative.max(relative);
        }
        if let Some(distance) = dtype.ulps(got, expected) {
            self.ulps.add(distance);
        }
        error
    }
}

/// How far off an element may be. The tolerance describes the computation, which is in single precision; types with
/// fewer bits round its result once more.
pub(super) fn allowed(dtype: Dtype, expected: f64, scale: f64, tolerance: &Tolerance) -> f64 {
    let computation = tolerance.absolute + tolerance.relative * scale;
    let rounding = match dtype {
        Dtype::F16 => (expected.abs() * 2f64.powi(-10)).max(2f64.powi(-24)),
        Dtype::Bf16 => expected.abs() * 2f64.powi(-7),
        Dtype::F32 | Dtype::U32 | Dtype::I32 => 0.0,
    };
    computation + rounding
}

/// How many times what is allowed an error is; 0 when there is none.
fn excess(error: f64, allowed: f64) -> f64 {
    if error == 0.0 { 0.0 } else { error / allowed }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            wrong,
            elements,
            compared,
            ..
        } = self;
        if self.is_right() {
            let (half, most) = (self.ulps.covering(0.5), self.ulps.covering(0.999));
            return write!(
                f,
                "{compared} of {elements} compared, all right, half within {half} ulp, 99.9 % within {most}"
            );
        }
        write!(f, "{wrong} of {elements} wrong")?;
        if self.unwritten > 0 {
            write!(f, ", {} never written", self.unwritten)?;
        }
        if self.not_finite > 0 {
            write!(f, ", {} not finite", self.not_finite)?;
        }
        if let Some(worst) = self.worst {
            let Element {
                place,
                got,
                expected,
                allowed,
            } = worst;
            write!(
                f,
                "; element {place} is {got:e}, right is {expected:e} ± {allowed:.1e}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_relative_to_nothing_is_absolute_alone() {
        let answer = Answer {
            values: vec![0.0, 2.0],
            scale: vec![0.0, 2.0],
        };
        let tolerance = Tolerance {
            relative: 1e-6,
            absolute: 1e-6,
            reason: String::new(),
        };
        let bytes: Vec<u8> = [1e-8f32, 2.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let comparison = Comparison::new(&bytes, Dtype::F32, &answer, &tolerance);
        assert!(comparison.is_right());
        assert!(comparison.max_absolute > 0.0);
        assert_eq!(comparison.max_relative, 0.0);
    }
}

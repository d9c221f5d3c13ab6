//! Arc functions.

use super::expand::polynomial;
use super::roots::{fast_divide, fast_sqrt, quotient, sqrt};
use crate::machine::Machine;

const PI_PARTS: [f32; 2] = [f32::from_bits(0x4049_0fdb), f32::from_bits(0xb3bb_bd2e)];
const HALF_PI_PARTS: [f32; 2] = [f32::from_bits(0x3fc9_0fdb), f32::from_bits(0xb33b_bd2e)];

/// atan(x)/x = 1 + x² P(x²) on [0, 1].
const ARCTANGENT: [f32; 10] = [
    -0.33333334,
    0.1999996,
    -0.14284271,
    0.11090977,
    -0.089456506,
    0.070715226,
    -0.049628045,
    0.026961343,
    -0.009492921,
    0.0015657513,
];

/// asin(x)/x = 1 + x² P(x²) on [0, ½].
const ARCSINE: [f32; 6] = [
    0.16666666,
    0.07500105,
    0.044596177,
    0.031137573,
    0.016976977,
    0.033971913,
];

/// The same with fewer terms, for fast math: within 0.3 units where `ARCTANGENT` is within 0.01.
const FAST_ARCTANGENT: [f32; 8] = [
    -0.333_331_53,
    0.199_937_73,
    -0.142_110_56,
    0.106_660_046,
    -0.075_522_15,
    0.043_211_862,
    -0.016_367_93,
    0.002_920_692_3,
];

/// The same with fewer terms, for fast math.
const FAST_ARCSINE: [f32; 5] = [
    0.166_667_52,
    0.074_952_975,
    0.045_470_376,
    0.024_179_518,
    0.042_166_304,
];

/// With as many terms as halves need.
const HALF_ARCTANGENT: [f32; 5] = [
    -0.333_089,
    0.196_183_09,
    -0.122_515,
    0.058_770_243,
    -0.013_955_096,
];

/// With as many terms as halves need.
const HALF_ARCSINE: [f32; 3] = [0.166_801_26, 0.071_899_8, 0.064_107_31];

/// `x + x · x² P(x²)`
#[inline(always)]
fn odd<M: Machine>(m: &M, coefficients: &[f32], x: M::Float) -> M::Float {
    let x2 = m.mul(x, x);
    m.fma(m.mul(x, x2), polynomial(m, coefficients, x2), x)
}

/// `high + low - x`, or with the sign of the other: the low part first.
#[inline(always)]
fn from_constant<M: Machine>(m: &M, [high, low]: [f32; 2], x: M::Float) -> M::Float {
    m.add(m.constant(high), m.sub(m.constant(low), x))
}

/// Arcsine of a number in [0, ½], and the same of `sqrt((1 − x) / 2)` for larger ones, which both functions below use.
#[inline(always)]
fn folded<M: Machine>(m: &M, magnitude: M::Float) -> (M::Truth, M::Float) {
    let half = m.constant(0.5);
    let rest = m.mul(m.sub(m.constant(1.0), magnitude), half);
    let small = m.less(magnitude, half);
    let x = m.select(small, magnitude, sqrt(m, rest));
    (small, odd(m, &ARCSINE, x))
}

/// Arcsine; NaN outside [−1, 1].
#[inline(always)]
pub fn asin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (small, value) = folded(m, m.abs(x));
    let large = from_constant(m, HALF_PI_PARTS, m.add(value, value));
    m.copysign_unless_nan(m.select(small, value, large), x)
}

/// Arccosine; NaN outside [−1, 1].
#[inline(always)]
pub fn acos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let negative = m.less(x, m.constant(0.0));
    let (small, value) = folded(m, m.abs(x));
    let twice = m.add(value, value);
    let large = m.select(negative, from_constant(m, PI_PARTS, twice), twice);
    let signed = m.select(negative, m.neg(value), value);
    m.select(small, from_constant(m, HALF_PI_PARTS, signed), large)
}

/// Arctangent.
#[inline(always)]
pub fn atan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let one = m.constant(1.0);
    let magnitude = m.abs(x);
    let large = m.less(one, magnitude);
    let inside = m.select(large, m.rcp(magnitude), magnitude);
    let value = odd(m, &ARCTANGENT, inside);
    let result = m.select(large, from_constant(m, HALF_PI_PARTS, value), value);
    m.copysign_unless_nan(result, x)
}

/// Angle of the point (x, y).
#[inline(always)]
pub fn atan2<M: Machine>(m: &M, y: M::Float, x: M::Float) -> M::Float {
    let (zero, one, inf) = (m.constant(0.0), m.constant(1.0), m.constant(f32::INFINITY));
    let (ax, ay) = (m.abs(x), m.abs(y));
    let steep = m.less(ax, ay);
    let (small, large) = (m.select(steep, ax, ay), m.select(steep, ay, ax));
    // Keep the quotient's parts away from over- and underflow.
    let shrink = m.less(m.constant(f32::from_bits(0x6f80_0000)), large);
    let grow = m.less(large, m.constant(f32::from_bits(0x1080_0000)));
    let factor = m.select(shrink, m.constant(f32::from_bits(0x2f80_0000)), one);
    let factor = m.select(grow, m.constant(f32::from_bits(0x5f80_0000)), factor);
    let ratio = quotient(m, m.mul(small, factor), m.mul(large, factor));
    // 0/0 is taken as 0, ∞/∞ as 1.
    let ratio = m.select(m.equal(large, zero), zero, ratio);
    let both_infinite = m.select(
        m.equal(small, inf),
        one,
        m.select(m.equal(large, inf), zero, ratio),
    );
    let value = odd(m, &ARCTANGENT, both_infinite);
    let value = m.select(steep, from_constant(m, HALF_PI_PARTS, value), value);
    let left = m.less(m.copysign(one, x), zero);
    let value = m.select(left, from_constant(m, PI_PARTS, value), value);
    let value = m.copysign(value, y);
    let nan = m.constant(crate::NAN32);
    m.select_nan(x, nan, m.select_nan(y, nan, value))
}

/// As [`folded`], the square root approximate: the magnitude's arcsine if it is below ½, else half of what its arcsine
/// lacks to a right angle.
#[inline(always)]
fn fast_folded<M: Machine>(
    m: &M,
    magnitude: M::Float,
    coefficients: &[f32],
) -> (M::Truth, M::Float) {
    let half = m.constant(0.5);
    let rest = m.fma(magnitude, m.constant(-0.5), half);
    let small = m.less(magnitude, half);
    let x = m.select(small, magnitude, fast_sqrt(m, rest));
    (small, odd(m, coefficients, x))
}

/// Arcsine for fast math. *Chosen*: the precise one with an approximate square root and one term less.
#[inline(always)]
pub fn fast_asin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    short_asin(m, x, &FAST_ARCSINE)
}

/// The same for halves and brain floats.
#[inline(always)]
pub fn fast_asin_of_half<M: Machine>(m: &M, x: M::Float) -> M::Float {
    short_asin(m, x, &HALF_ARCSINE)
}

#[inline(always)]
fn short_asin<M: Machine>(m: &M, x: M::Float, coefficients: &[f32]) -> M::Float {
    let (small, value) = fast_folded(m, m.abs(x), coefficients);
    let large = m.fma(value, m.constant(-2.0), m.constant(HALF_PI_PARTS[0]));
    m.copysign(m.select(small, value, large), x)
}

/// Arccosine for fast math. *Chosen*: as [`fast_asin`].
#[inline(always)]
pub fn fast_acos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (small, value) = fast_folded(m, m.abs(x), &FAST_ARCSINE);
    // The angle from the nearer end of the x axis.
    let near = m.select(
        small,
        m.sub(m.constant(HALF_PI_PARTS[0]), value),
        m.add(value, value),
    );
    let far = m.sub(m.constant(PI_PARTS[0]), near);
    m.select(m.less(x, m.constant(0.0)), far, near)
}

/// Arctangent for fast math. *Chosen*: the precise one with two terms less.
#[inline(always)]
pub fn fast_atan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    short_atan(m, x, &FAST_ARCTANGENT)
}

/// The same for halves and brain floats.
#[inline(always)]
pub fn fast_atan_of_half<M: Machine>(m: &M, x: M::Float) -> M::Float {
    short_atan(m, x, &HALF_ARCTANGENT)
}

#[inline(always)]
fn short_atan<M: Machine>(m: &M, x: M::Float, coefficients: &[f32]) -> M::Float {
    let magnitude = m.abs(x);
    let large = m.less(m.constant(1.0), magnitude);
    let inside = m.select(large, m.rcp(magnitude), magnitude);
    let value = odd(m, coefficients, inside);
    let turned = m.sub(m.constant(HALF_PI_PARTS[0]), value);
    m.copysign(m.select(large, turned, value), x)
}

/// Angle of the point (x, y) for fast math. *Chosen*: the arctangent of the smaller magnitude over the larger, turned
/// into its octant. NaN where both are zero or infinite, which Metal's specification leaves undefined.
#[inline(always)]
pub fn fast_atan2<M: Machine>(m: &M, y: M::Float, x: M::Float) -> M::Float {
    short_atan2(m, y, x, &FAST_ARCTANGENT)
}

/// The same for halves and brain floats.
#[inline(always)]
pub fn fast_atan2_of_half<M: Machine>(m: &M, y: M::Float, x: M::Float) -> M::Float {
    short_atan2(m, y, x, &HALF_ARCTANGENT)
}

#[inline(always)]
fn short_atan2<M: Machine>(m: &M, y: M::Float, x: M::Float, coefficients: &[f32]) -> M::Float {
    let (ax, ay) = (m.abs(x), m.abs(y));
    let steep = m.less(ax, ay);
    let (small, large) = (m.select(steep, ax, ay), m.select(steep, ay, ax));
    let value = odd(m, coefficients, fast_divide(m, small, large));
    let value = m.select(steep, m.sub(m.constant(HALF_PI_PARTS[0]), value), value);
    let left = m.sub(m.constant(PI_PARTS[0]), value);
    m.copysign(m.select(m.less(x, m.constant(0.0)), left, value), y)
}

trait SignOf: Machine {
    /// The sign bit of the second on the first, NaN left alone.
    fn copysign_unless_nan(&self, magnitude: Self::Float, sign: Self::Float) -> Self::Float;
}

impl<M: Machine> SignOf for M {
    #[inline(always)]
    fn copysign_unless_nan(&self, magnitude: M::Float, sign: M::Float) -> M::Float {
        self.select_nan(magnitude, magnitude, self.copysign(magnitude, sign))
    }
}

#[cfg(test)]
mod tests {
    use crate::math::accuracy::{every, max_ulps, max_ulps_of_two, within};
    use crate::math::precise;

    #[test]
    fn arc_functions() {
        for (from, to) in [(0x3000_0000, 0x3f80_0000), (0xb000_0000, 0xbf80_0000)] {
            within(2.4, max_ulps(every(from, to, 97), precise::asin, f64::asin));
            within(1.2, max_ulps(every(from, to, 97), precise::acos, f64::acos));
        }
        within(
            1.3,
            max_ulps(
                every(0x3000_0000, 0x7f7f_ffff, 499),
                precise::atan,
                f64::atan,
            ),
        );
        let error = max_ulps_of_two(
            300_000,
            (-30.0, 30.0),
            (-100.0, 100.0),
            precise::atan2,
            f64::atan2,
        );
        within(2.5, error);
        for exponent in (-120..=120).step_by(7) {
            let y = 3.7 * 2f32.powi(exponent);
            for x in [y * 0.9, y * 1.3, -y * 0.2, -y * 5.0] {
                let wanted = f64::from(y).atan2(f64::from(x));
                let error = (f64::from(precise::atan2(y, x)) - wanted).abs() / wanted.abs();
                assert!(error < 3.5e-7, "{y} {x}");
            }
        }
    }

    #[test]
    fn special_values_are_ieees() {
        let inf = f32::INFINITY;
        for y in [0.0, -0.0, 1.0, -1.0, inf, -inf] {
            for x in [0.0, -0.0, 1.0, -1.0, inf, -inf] {
                let (given, wanted) = (
                    precise::atan2(y, x),
                    f64::from(y).atan2(f64::from(x)) as f32,
                );
                assert!((given - wanted).abs() <= 3e-7, "{y} {x}: {given} {wanted}");
                assert_eq!(
                    given.is_sign_negative(),
                    wanted.is_sign_negative(),
                    "{y} {x}"
                );
            }
        }
        assert_eq!(precise::asin(-0.0).to_bits(), 0x8000_0000);
        assert_eq!(precise::acos(1.0), 0.0);
        for nan in [
            precise::asin(1.5),
            precise::acos(-1.5),
            precise::atan(f32::NAN),
            precise::atan2(f32::NAN, 1.0),
        ] {
            assert_eq!(nan.to_bits(), 0x7fc0_0000);
        }
    }
}

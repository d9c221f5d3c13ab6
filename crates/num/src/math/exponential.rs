//! Exponentials, logarithms, powers.

use super::expand::polynomial;
use crate::machine::Machine;

pub(super) const LOG2_E: f32 = f32::from_bits(0x3fb8_aa3b);
const LOG2_E_LOW: f32 = f32::from_bits(0x32a5_7060);
const LOG2_10: f32 = f32::from_bits(0x4054_9a78);
const LOG2_10_LOW: f32 = f32::from_bits(0x3397_9a37);
pub(super) const LN_2: f32 = f32::from_bits(0x3f31_7218);
/// ln 2 and log₁₀ 2 in two parts of the same sign, so that infinity times both adds up to infinity.
const LN_2_PARTS: [f32; 2] = [f32::from_bits(0x3f31_7217), f32::from_bits(0x3377_d1cf)];
const LOG10_2_PARTS: [f32; 2] = [f32::from_bits(0x3e9a_209a), f32::from_bits(0x3284_fbd0)];
const LOG10_2: f32 = f32::from_bits(0x3e9a_209b);

/// `2^(high + low)` for a small `low`.
#[inline(always)]
pub(super) fn exp2_sum<M: Machine>(m: &M, high: M::Float, low: M::Float) -> M::Float {
    let one = m.constant(1.0);
    // Near over- and underflow `high` alone may round across the edge: go one step toward zero and scale at the end.
    let near_end = m.less(m.constant(125.0), m.abs(high));
    let step = m.select(near_end, m.copysign(one, high), m.constant(0.0));
    let power = m.exp2(m.sub(high, step));
    let corrected = m.fma(power, m.mul(low, m.constant(LN_2)), power);
    // Infinity plus a correction of the other sign would be NaN.
    let result = m.select(m.less(power, m.constant(f32::INFINITY)), corrected, power);
    let zero = m.constant(0.0);
    let up = m.select(m.less(zero, step), m.constant(2.0), one);
    m.mul(result, m.select(m.less(step, zero), m.constant(0.5), up))
}

/// `factor^x`, the factor given as its base-2 logarithm in two parts, times `2^shift`.
#[inline(always)]
pub(super) fn exp_base<M: Machine>(
    m: &M,
    x: M::Float,
    (log2_high, log2_low): (f32, f32),
    shift: f32,
) -> M::Float {
    // Beyond ±200 the result is certain; clamping keeps the products finite.
    let limit = m.constant(200.0);
    let magnitude = m.abs(x);
    let within = m.select(m.less(magnitude, limit), x, m.copysign(limit, x));
    let high = m.mul(within, m.constant(log2_high));
    let low = m.fma(within, m.constant(log2_high), m.neg(high));
    let low = m.fma(within, m.constant(log2_low), low);
    let result = if shift == 0.0 {
        exp2_sum(m, high, low)
    } else {
        let shift = m.constant(shift);
        let shifted = m.add(high, shift);
        let lost = m.sub(m.sub(shifted, shift), high);
        exp2_sum(m, shifted, m.sub(low, lost))
    };
    m.select_nan(x, x, result)
}

/// `e^x`.
#[inline(always)]
pub fn exp<M: Machine>(m: &M, x: M::Float) -> M::Float {
    exp_base(m, x, (LOG2_E, LOG2_E_LOW), 0.0)
}

/// `10^x`.
#[inline(always)]
pub fn exp10<M: Machine>(m: &M, x: M::Float) -> M::Float {
    exp_base(m, x, (LOG2_10, LOG2_10_LOW), 0.0)
}

/// `e^x / 2`, which does not overflow before the result does.
#[inline(always)]
pub(super) fn half_exp<M: Machine>(m: &M, x: M::Float) -> M::Float {
    exp_base(m, x, (LOG2_E, LOG2_E_LOW), -1.0)
}

/// Natural logarithm.
#[inline(always)]
pub fn log<M: Machine>(m: &M, x: M::Float) -> M::Float {
    scaled_log(m, x, LN_2_PARTS)
}

/// Decimal logarithm.
#[inline(always)]
pub fn log10<M: Machine>(m: &M, x: M::Float) -> M::Float {
    scaled_log(m, x, LOG10_2_PARTS)
}

#[inline(always)]
fn scaled_log<M: Machine>(m: &M, x: M::Float, [high, low]: [f32; 2]) -> M::Float {
    let log2 = m.log2(x);
    m.fma(log2, m.constant(high), m.mul(log2, m.constant(low)))
}

/// `ln(1 + x)`, accurate for small `x` too.
#[inline(always)]
pub fn log1p<M: Machine>(m: &M, x: M::Float) -> M::Float {
    // ln(1 + x) = ln(u) · x / (u − 1) with u = 1 + x as rounded: the rounding of u cancels (Kahan).
    let one = m.constant(1.0);
    let u = m.add(one, x);
    let lost = m.sub(u, one);
    let corrected = m.mul(log(m, u), m.mul(x, m.rcp(lost)));
    let plain = log(m, u);
    let ordinary = m.less(m.abs(x), m.constant(16777216.0));
    let result = m.select(ordinary, corrected, plain);
    m.select(m.equal(u, one), x, result)
}

/// `exp2(x · log₂e)`.
#[inline(always)]
pub fn fast_exp<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.exp2_of_product(x, LOG2_E)
}

/// `exp2(x · log₂10)`.
#[inline(always)]
pub fn fast_exp10<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.exp2_of_product(x, LOG2_10)
}

/// `log2(x) · ln 2`.
#[inline(always)]
pub fn fast_log<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.mul(m.log2(x), m.constant(LN_2))
}

/// `log2(x) · log₁₀2`.
#[inline(always)]
pub fn fast_log10<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.mul(m.log2(x), m.constant(LOG10_2))
}

/// `exp2(y · log2(x))`.
#[inline(always)]
pub fn fast_pow<M: Machine>(m: &M, x: M::Float, y: M::Float) -> M::Float {
    m.exp2(m.mul(y, m.log2(x)))
}

/// `log2(x)` of a positive normal number in two parts, relative error about 2⁻³¹.
#[inline(always)]
fn log2_parts<M: Machine>(m: &M, x: M::Float) -> (M::Float, M::Float) {
    /// 2 / ln 2 in two parts.
    const SCALE: (f32, f32) = (f32::from_bits(0x4038_aa3b), f32::from_bits(0x3325_7060));
    /// (atanh(s)/s − 1)/s² in s².
    const SERIES: [f32; 4] = [0.33333334, 0.2000006, 0.14275326, 0.1166736];
    let (mantissa, exponent) = m.split(x);
    let one = m.constant(1.0);
    let f = m.sub(mantissa, one);
    // s = f / (2 + f) in two parts.
    let r = m.rcp(m.add(f, m.constant(2.0)));
    let s = m.mul(f, r);
    let rest = m.fma(m.neg(s), f, m.fma(s, m.constant(-2.0), f));
    let s_low = m.mul(rest, r);
    let s2 = m.mul(s, s);
    let tail = m.mul(m.mul(s, s2), polynomial(m, &SERIES, s2));
    let (scale, scale_low) = (m.constant(SCALE.0), m.constant(SCALE.1));
    let high = m.mul(scale, s);
    let low = m.fma(scale, s, m.neg(high));
    let low = m.fma(scale_low, s, low);
    let low = m.fma(scale, m.add(s_low, tail), low);
    let sum = m.add(exponent, high);
    let lost = m.add(m.sub(exponent, sum), high);
    // The tail made the low part large: move what fits into the high part.
    let low = m.add(lost, low);
    let total = m.add(sum, low);
    (total, m.add(m.sub(sum, total), low))
}

/// `x^y` for positive `x`; zero and infinity included, NaN for negatives.
#[inline(always)]
pub fn powr<M: Machine>(m: &M, x: M::Float, y: M::Float) -> M::Float {
    let (zero, one, inf) = (m.constant(0.0), m.constant(1.0), m.constant(f32::INFINITY));
    let (high, low) = log2_parts(m, x);
    let product = m.mul(y, high);
    let product_low = m.fma(y, low, m.fma(y, high, m.neg(product)));
    // An exponent far outside, or infinite, makes the result certain and the low part nonsense.
    let inside = m.less(m.abs(product), m.constant(300.0));
    let product_low = m.select(inside, product_low, zero);
    let finite = exp2_sum(m, product, product_low);
    // y · log₂x is −∞ for zero and +∞ for infinity, times the sign of y.
    let at_zero = m.select(m.less(y, zero), inf, zero);
    let at_infinity = m.select(m.less(y, zero), zero, inf);
    let result = m.select(m.equal(x, zero), at_zero, finite);
    let result = m.select(m.equal(x, inf), at_infinity, result);
    let result = m.select(m.equal(x, one), one, result);
    let result = m.select(m.equal(y, zero), one, result);
    let nan = m.constant(crate::NAN32);
    let result = m.select(m.less(x, zero), nan, result);
    let result = m.select_nan(x, nan, result);
    m.select_nan(y, nan, result)
}

/// `x^y` by IEEE 754's rules: 1 for `y = 0` and `x = 1`, negative `x` only with integer `y`.
#[inline(always)]
pub fn pow<M: Machine>(m: &M, x: M::Float, y: M::Float) -> M::Float {
    let (zero, one, nan) = (m.constant(0.0), m.constant(1.0), m.constant(crate::NAN32));
    let positive = powr(m, m.abs(x), y);
    // Odd: an integer whose half is not one. Infinities and large numbers are even integers.
    let half = m.mul(y, m.constant(0.5));
    let whole = m.equal(m.floor(y), y);
    let even = m.equal(m.floor(half), half);
    let signed = m.select(even, positive, m.copysign(positive, x));
    let negative_result = m.select(whole, signed, m.select(m.equal(x, zero), positive, nan));
    // Sign bit set, not just below zero: −0 with an odd power keeps its sign.
    let sign = m.copysign(one, x);
    let result = m.select(m.less(sign, zero), negative_result, positive);
    // −∞ to a power that is no integer is positive.
    let infinite = m.equal(m.abs(x), m.constant(f32::INFINITY));
    let at_infinity = m.select(whole, result, positive);
    let result = m.select(infinite, at_infinity, result);
    let result = m.select_nan(x, nan, result);
    let result = m.select_nan(y, nan, result);
    let result = m.select(m.equal(x, one), one, result);
    m.select(m.equal(y, zero), one, result)
}

#[cfg(test)]
mod tests {
    use crate::math::accuracy::{every, max_ulps, max_ulps_of_two, within};
    use crate::math::{fast, precise};
    use crate::{hardware, single};

    #[test]
    fn precise_exponentials() {
        for (from, to) in [(0x3000_0000, 0x42b1_7217), (0xb000_0000, 0xc2ae_ac4f)] {
            within(1.01, max_ulps(every(from, to, 211), precise::exp, f64::exp));
        }
        for (from, to) in [(0x3000_0000, 0x421a_0000), (0xb000_0000, 0xc217_0000)] {
            within(
                1.01,
                max_ulps(every(from, to, 211), precise::exp10, |x| 10f64.powf(x)),
            );
        }
    }

    #[test]
    fn precise_logarithms() {
        for (from, to, step) in [
            (0x0080_0000, 0x7f7f_ffff, 997),
            (0x3f00_0000, 0x4000_0000, 37),
        ] {
            within(1.9, max_ulps(every(from, to, step), precise::log, f64::ln));
            within(
                1.8,
                max_ulps(every(from, to, step), precise::log10, f64::log10),
            );
            within(1.9, max_ulps(every(from, to, step), fast::log, f64::ln));
            within(
                1.9,
                max_ulps(every(from, to, step), fast::log10, f64::log10),
            );
        }
    }

    #[test]
    fn precise_powers() {
        let whole_range = ((-126.0, 127.0), (-60.0, 60.0));
        let near_one = ((-0.01, 0.01), (-12000.0, 12000.0));
        for (x, y) in [whole_range, near_one] {
            within(1.9, max_ulps_of_two(400_000, x, y, precise::pow, f64::powf));
        }
    }

    #[test]
    fn fast_exponentials_are_the_composition() {
        within(
            65.0,
            max_ulps(every(0x3f00_0000, 0x42b0_0000, 997), fast::exp, f64::exp),
        );
        let (x, y) = ((-120.0, 120.0), (-60.0, 60.0));
        within(200.0, max_ulps_of_two(100_000, x, y, fast::pow, f64::powf));
        for bits in (0..=u32::MAX).step_by(9973) {
            let x = f32::from_bits(bits);
            let composed = hardware::exp2(single::mul(x, std::f32::consts::LOG2_E));
            assert_eq!(fast::exp(x).to_bits(), composed.to_bits(), "{x:e}");
        }
    }

    #[test]
    fn fast_functions_that_are_the_precise_ones_in_half() {
        type Function = fn(f32) -> f32;
        let functions: [(Function, Function); 5] = [
            (fast::exp, precise::exp),
            (fast::exp10, precise::exp10),
            (fast::log, precise::log),
            (fast::asin, precise::asin),
            (fast::cosh, precise::cosh),
        ];
        for bits in 0..=u16::MAX {
            for (at, (short, long)) in functions.iter().enumerate() {
                let [a, b] = [short, long].map(|function| crate::half::lift(bits, function));
                assert_eq!(a, b, "function {at} of {bits:#x}");
            }
        }
    }

    #[test]
    fn nothing_gives_denormals() {
        let functions: [fn(f32) -> f32; 13] = [
            fast::exp,
            precise::exp,
            hardware::exp2,
            fast::exp10,
            precise::exp10,
            fast::sqrt,
            single::sqrt,
            hardware::rsqrt,
            fast::log,
            precise::log,
            hardware::log2,
            fast::log10,
            precise::log10,
        ];
        for bits in (0..=u32::MAX).step_by(99_991).chain(0..100) {
            for (at, function) in functions.iter().enumerate() {
                let result = function(f32::from_bits(bits));
                assert!(
                    !result.is_subnormal(),
                    "function {at} of {bits:#x}: {result:e}"
                );
            }
        }
    }

    #[test]
    fn special_values_of_exponentials_and_logarithms() {
        let inf = f32::INFINITY;
        assert_eq!(
            (precise::exp(0.0), precise::exp(inf), precise::exp(-inf)),
            (1.0, inf, 0.0)
        );
        assert_eq!((precise::exp(89.0), precise::exp(-90.0)), (inf, 0.0));
        assert_eq!(
            (precise::log(1.0), precise::log(0.0), precise::log(inf)),
            (0.0, -inf, inf)
        );
        assert_eq!(precise::log10(1000.0), 3.0);
        assert_eq!((precise::log10(0.0), precise::log10(inf)), (-inf, inf));
        for nan in [
            precise::exp(f32::NAN),
            precise::log(-1.0),
            precise::log(f32::NAN),
        ] {
            assert_eq!(nan.to_bits(), 0x7fc0_0000);
        }
    }

    #[test]
    fn special_values_of_powers_are_ieees() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let bases = [
            0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, inf, -inf, nan, -8.0, 3.5,
        ];
        let powers = [
            0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, inf, -inf, nan, 1e30, -1e30,
        ];
        for x in bases {
            for y in powers {
                let (given, wanted) = (precise::pow(x, y), f64::from(x).powf(f64::from(y)) as f32);
                let same = given == wanted && given.is_sign_negative() == wanted.is_sign_negative();
                let close = (given - wanted).abs() <= wanted.abs() * 1e-6;
                assert!(
                    same || close || given.is_nan() && wanted.is_nan(),
                    "{x}^{y}: {given} {wanted}"
                );
            }
        }
    }
}

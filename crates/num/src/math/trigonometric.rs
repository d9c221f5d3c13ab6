//! Sine, cosine, tangent, of radians and of half turns.

use super::expand::polynomial;
use super::roots::quotient;
use crate::machine::Machine;

const INVERSE_TAU: f32 = f32::from_bits(0x3e22_f983);
const TWO_OVER_PI: f32 = f32::from_bits(0x3f22_f983);
/// π/2 in four parts, each the rest of the ones before.
const HALF_PI_PARTS: [f32; 4] = [
    f32::from_bits(0x3fc9_0fdb),
    f32::from_bits(0xb33b_bd2e),
    f32::from_bits(0xa6f7_2ced),
    f32::from_bits(0x194c_5170),
];
const PI_PARTS: [f32; 2] = [f32::from_bits(0x4049_0fdb), f32::from_bits(0xb3bb_bd2e)];

/// sin(x)/x = 1 + x² P(x²) on [−π/4, π/4].
const SINE: [f32; 4] = [-0.16666667, 0.008333332, -0.00019840064, 2.7246947e-6];
/// cos(x) = 1 − x²/2 + x⁴ P(x²) on [−π/4, π/4].
const COSINE: [f32; 4] = [0.041666668, -0.0013888888, 2.4800582e-5, -2.7298464e-7];

/// Sine and cosine of a reduced angle given in two parts.
#[inline(always)]
fn both<M: Machine>(m: &M, r: M::Float, r_low: M::Float) -> (M::Float, M::Float) {
    let r2 = m.mul(r, r);
    let cubed = m.mul(r, r2);
    let sine = m.fma(cubed, polynomial(m, &SINE, r2), r_low);
    let sine = m.add(r, sine);
    let one = m.constant(1.0);
    let half = m.mul(r2, m.constant(0.5));
    // 1 − r²/2 loses bits that are put back.
    let start = m.sub(one, half);
    let lost = m.sub(m.sub(one, start), half);
    let square = m.mul(r2, r2);
    let cosine = m.fma(
        square,
        polynomial(m, &COSINE, r2),
        m.fma(m.neg(r), r_low, lost),
    );
    (sine, m.add(start, cosine))
}

/// Quarter turns and the rest of an angle in radians, the rest in two parts.
#[inline(always)]
fn reduce<M: Machine>(m: &M, x: M::Float) -> (M::Float, M::Float, M::Float) {
    let n = m.rint(m.mul(x, m.constant(TWO_OVER_PI)));
    let minus = m.neg(n);
    let [first, second, third, fourth] = HALF_PI_PARTS;
    let r = m.fma(minus, m.constant(first), x);
    let r = m.fma(minus, m.constant(second), r);
    // From here on keep what is lost.
    let next = m.fma(minus, m.constant(third), r);
    let lost = m.fma(minus, m.constant(third), m.sub(r, next));
    let low = m.fma(minus, m.constant(fourth), lost);
    (n, next, low)
}

/// Puts sine or cosine together for `quarter` quarter turns (an integer) beyond the reduced angle.
#[inline(always)]
fn turned<M: Machine>(m: &M, (sine, cosine): (M::Float, M::Float), quarter: M::Float) -> M::Float {
    // quarter mod 4: odd exchanges the two, the upper half changes the sign.
    let quarter_turns = m.sub(
        quarter,
        m.mul(m.floor(m.mul(quarter, m.constant(0.25))), m.constant(4.0)),
    );
    let halves = m.floor(m.mul(quarter_turns, m.constant(0.5)));
    let odd = m.sub(quarter_turns, m.add(halves, halves));
    let one = m.constant(1.0);
    let value = m.select(m.equal(odd, one), cosine, sine);
    m.select(m.equal(halves, one), m.neg(value), value)
}

/// Sine of radians.
#[inline(always)]
pub fn sin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (n, r, low) = reduce(m, x);
    let result = turned(m, both(m, r, low), n);
    // −0 would come out as +0.
    let result = m.select(m.equal(x, m.constant(0.0)), x, result);
    not_for_infinity(m, x, result)
}

/// Cosine of radians.
#[inline(always)]
pub fn cos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (n, r, low) = reduce(m, x);
    let result = turned(m, both(m, r, low), m.add(n, m.constant(1.0)));
    not_for_infinity(m, x, result)
}

/// Tangent of radians.
#[inline(always)]
pub fn tan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (n, r, low) = reduce(m, x);
    let result = tangent(m, both(m, r, low), n);
    let result = m.select(m.equal(x, m.constant(0.0)), x, result);
    not_for_infinity(m, x, result)
}

#[inline(always)]
fn tangent<M: Machine>(m: &M, (sine, cosine): (M::Float, M::Float), quarter: M::Float) -> M::Float {
    let half = m.mul(quarter, m.constant(0.5));
    let even = m.equal(m.floor(half), half);
    let upper = m.select(even, sine, m.neg(cosine));
    let lower = m.select(even, cosine, sine);
    quotient(m, upper, lower)
}

#[inline(always)]
fn not_for_infinity<M: Machine>(m: &M, x: M::Float, result: M::Float) -> M::Float {
    let finite = m.less(m.abs(x), m.constant(f32::INFINITY));
    m.select(finite, result, m.constant(crate::NAN32))
}

/// Quarter turns and the rest, in radians, of an angle in half turns.
#[inline(always)]
fn reduce_half_turns<M: Machine>(m: &M, x: M::Float) -> (M::Float, M::Float, M::Float) {
    let n = m.rint(m.add(x, x));
    let rest = m.fma(n, m.constant(-0.5), x);
    let [high, low] = PI_PARTS;
    let r = m.mul(rest, m.constant(high));
    let lost = m.fma(rest, m.constant(high), m.neg(r));
    (n, r, m.fma(rest, m.constant(low), lost))
}

/// Sine of half turns.
#[inline(always)]
pub fn sinpi<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (n, r, low) = reduce_half_turns(m, x);
    let result = turned(m, both(m, r, low), n);
    // At integers the result is a zero of the angle's sign.
    let whole = m.equal(m.floor(x), x);
    let result = m.select(whole, m.copysign(m.constant(0.0), x), result);
    not_for_infinity(m, x, result)
}

/// Cosine of half turns.
#[inline(always)]
pub fn cospi<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (n, r, low) = reduce_half_turns(m, x);
    let result = turned(m, both(m, r, low), m.add(n, m.constant(1.0)));
    // Adding zero makes a −0 positive.
    not_for_infinity(m, x, m.add(result, m.constant(0.0)))
}

/// Tangent of half turns.
#[inline(always)]
pub fn tanpi<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (n, r, low) = reduce_half_turns(m, x);
    let result = tangent(m, both(m, r, low), n);
    let whole = m.equal(m.floor(x), x);
    let result = m.select(whole, m.copysign(m.constant(0.0), x), result);
    not_for_infinity(m, x, result)
}

/// Sine by the hardware's two halves, the angle reduced by one multiplication.
#[inline(always)]
pub fn fast_sin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let turns = m.mul(x, m.constant(INVERSE_TAU));
    halves(m, turns)
}

/// Cosine by the hardware's two halves.
#[inline(always)]
pub fn fast_cos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let turns = m.fma(x, m.constant(INVERSE_TAU), m.constant(0.25));
    halves(m, turns)
}

#[inline(always)]
fn halves<M: Machine>(m: &M, turns: M::Float) -> M::Float {
    let part = m.sub(turns, m.floor(turns));
    let folded = m.sin_pt_1(m.mul(part, m.constant(4.0)));
    m.mul(folded, m.sin_pt_2(folded))
}

/// `fast_sin(x) · rcp(fast_cos(x))`.
#[inline(always)]
pub fn fast_tan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.mul(fast_sin(m, x), m.rcp(fast_cos(m, x)))
}

#[cfg(test)]
mod tests {
    use crate::math::accuracy::{every, max_ulps, within};
    use crate::math::{fast, precise};

    #[test]
    fn precise_sine_and_cosine_up_to_a_hundred_thousand() {
        for (from, to) in [(0x3000_0000, 0x47c3_5000), (0xb000_0000, 0xc7c3_5000)] {
            within(1.5, max_ulps(every(from, to, 173), precise::sin, f64::sin));
            within(1.5, max_ulps(every(from, to, 173), precise::cos, f64::cos));
            within(3.2, max_ulps(every(from, to, 173), precise::tan, f64::tan));
        }
        within(
            1.7,
            max_ulps(every(0x47c3_5000, 0x4a80_0000, 173), precise::sin, f64::sin),
        );
    }

    #[test]
    fn the_hardest_small_arguments() {
        // Multiples of π/2 as near as singles get.
        for n in 1..60_000u32 {
            let x = (f64::from(n) * std::f64::consts::FRAC_PI_2) as f32;
            for (given, wanted) in [
                (precise::sin(x), f64::from(x).sin()),
                (precise::cos(x), f64::from(x).cos()),
            ] {
                let error = (f64::from(given) - wanted).abs() / wanted.abs();
                assert!(error < 2.5e-7, "{x}: {given} {wanted}");
            }
        }
    }

    #[test]
    fn half_turns() {
        use std::f64::consts::PI;
        for (from, to) in [(0x3000_0000, 0x4a80_0000), (0xb000_0000, 0xca80_0000)] {
            // Double precision multiplies by π inexactly: reduce exactly first.
            let sine = |x: f64| ((x % 2.0) * PI).sin();
            let small = |x: &f32| x.abs() < 0.25;
            within(
                1.6,
                max_ulps(every(from, to, 499).filter(small), precise::sinpi, sine),
            );
        }
        assert_eq!(precise::sinpi(0.5), 1.0);
        assert_eq!(precise::sinpi(1.0), 0.0);
        assert_eq!(precise::cospi(1.0), -1.0);
        assert_eq!(precise::cospi(0.5), 0.0);
        assert_eq!(precise::cospi(4194304.0), 1.0);
        assert_eq!(precise::tanpi(0.25), 1.0);
        assert!((precise::sinpi(1000.25) - std::f32::consts::FRAC_1_SQRT_2).abs() < 1e-7);
    }

    #[test]
    fn fast_sine_is_right_to_seven_digits_near_zero() {
        let mut worst = 0f64;
        for x in every(0x3000_0000, 0x4049_0fdb, 997).chain(every(0xb000_0000, 0xc049_0fdb, 997)) {
            worst = worst.max((f64::from(fast::sin(x)) - f64::from(x).sin()).abs());
            worst = worst.max((f64::from(fast::cos(x)) - f64::from(x).cos()).abs());
        }
        assert!(worst <= 5e-7, "{worst}");
    }

    #[test]
    fn special_values() {
        assert_eq!(precise::sin(-0.0).to_bits(), 0x8000_0000);
        assert_eq!(precise::cos(0.0), 1.0);
        assert_eq!(precise::tan(-0.0).to_bits(), 0x8000_0000);
        for nan in [
            precise::sin(f32::INFINITY),
            precise::cos(f32::NAN),
            precise::tan(f32::INFINITY),
        ] {
            assert_eq!(nan.to_bits(), 0x7fc0_0000);
        }
        assert!(fast::sin(f32::INFINITY).is_nan());
    }
}

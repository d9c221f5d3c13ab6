//! Sine, cosine, tangent, of radians and of half turns.

use super::expand::polynomial;
use super::reduce::{FAR, far};
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

/// Quarter turns (modulo four of large angles) and the rest of an angle in radians, the rest in two parts.
#[inline(always)]
fn reduce<M: Machine>(m: &M, x: M::Float) -> (M::Float, M::Float, M::Float) {
    let (n, r, low) = reduce_near(m, x);
    let [first, second, ..] = HALF_PI_PARTS;
    let [n, r, low] = m.near_or_far(x, FAR, [n, r, low], |m| far(m, x, [first, second]));
    (n, r, low)
}

/// The same of angles below [`FAR`].
#[inline(always)]
fn reduce_near<M: Machine>(m: &M, x: M::Float) -> (M::Float, M::Float, M::Float) {
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

/// An angle reduced to quarter turns and a rest of two parts.
type Reduced<F> = (F, F, F);

/// Sine of radians.
#[inline(always)]
pub fn sin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    sine_of(m, x, reduce(m, x))
}

/// [`sin`] of angles that `reduce_near` serves.
#[inline(always)]
pub fn near_sin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    sine_of(m, x, reduce_near(m, x))
}

/// −0 and denormals are kept, as an M4 keeps them.
#[inline(always)]
fn sine_of<M: Machine>(m: &M, x: M::Float, (n, r, low): Reduced<M::Float>) -> M::Float {
    let result = turned(m, both(m, r, low), n);
    let result = m.select(m.equal(x, m.constant(0.0)), x, result);
    not_for_infinity(m, x, result)
}

/// Cosine of radians.
#[inline(always)]
pub fn cos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    cosine_of(m, x, reduce(m, x))
}

/// [`cos`] of angles that `reduce_near` serves.
#[inline(always)]
pub fn near_cos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    cosine_of(m, x, reduce_near(m, x))
}

#[inline(always)]
fn cosine_of<M: Machine>(m: &M, x: M::Float, (n, r, low): Reduced<M::Float>) -> M::Float {
    let result = turned(m, both(m, r, low), m.add(n, m.constant(1.0)));
    not_for_infinity(m, x, result)
}

/// Tangent of radians.
#[inline(always)]
pub fn tan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    tangent_of(m, x, reduce(m, x))
}

/// [`tan`] of angles that `reduce_near` serves.
#[inline(always)]
pub fn near_tan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    tangent_of(m, x, reduce_near(m, x))
}

#[inline(always)]
fn tangent_of<M: Machine>(m: &M, x: M::Float, (n, r, low): Reduced<M::Float>) -> M::Float {
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

/// Adding this rounds a number of quarter turns to an even one, whose half is odd where the last bit of the sum is set.
const TO_EVEN: f32 = 25_165_824.0;
/// 2/π in two parts.
const TWO_OVER_PI_PARTS: [f32; 2] = [TWO_OVER_PI, f32::from_bits(0x32dc_9c88)];
/// From 2²¹·π on the fast sine and cosine are +0: the number of half turns has more than 21 bits.
const CLIFF: f32 = 6_588_397.5;
/// Below this a number is its own sine.
const SMALL: f32 = 1e-4;

/// The sine of `angle`, and of what is `even` half turns from it: `y · (sin(π/2 · y) / y)` with the second half of the
/// hardware's sine, negative after an odd number of half turns.
#[inline(always)]
fn fast_wave<M: Machine>(m: &M, angle: M::Float, even: M::Float) -> M::Float {
    let wave = m.mul(angle, m.sin_pt_2(angle));
    m.flip_by_last_bit(wave, even)
}

/// Zero beyond the cliff, and for NaN.
#[inline(always)]
fn before_cliff<M: Machine>(m: &M, x: M::Float, wave: M::Float) -> M::Float {
    let inside = m.less(m.abs(x), m.constant(CLIFF));
    m.select(inside, wave, m.constant(0.0))
}

/// Sine for fast math on G13 and G14: the two halves of the hardware's sine, the angle reduced by one multiplication.
#[inline(always)]
pub fn fast_sin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    halves(m, m.mul(x, m.constant(INVERSE_TAU)))
}

/// Cosine for fast math on G13 and G14.
#[inline(always)]
pub fn fast_cos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    halves(m, m.fma(x, m.constant(INVERSE_TAU), m.constant(0.25)))
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

/// Sine for fast math on G16, and of halves everywhere: the angle in quarter turns by 2/π in two parts, less the nearest even number of them, then the
/// second half of the hardware's sine. As an M4: within 2 units (but next to multiples of π beyond 100), +0 for NaN,
/// infinities and beyond the cliff; −0 and denormals are kept.
#[inline(always)]
pub fn reduced_sin<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let [high, low] = TWO_OVER_PI_PARTS.map(|part| m.constant(part));
    let even = m.fma(x, high, m.constant(TO_EVEN));
    let turns = m.sub(even, m.constant(TO_EVEN));
    let angle = m.fma(x, low, m.fma(x, high, m.neg(turns)));
    let wave = before_cliff(m, x, fast_wave(m, angle, even));
    m.select(m.less(m.abs(x), m.constant(SMALL)), x, wave)
}

/// Cosine for fast math on G16, and of halves everywhere: as [`reduced_sin`], less the nearest odd number of quarter
/// turns.
#[inline(always)]
pub fn reduced_cos<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let [high, low] = TWO_OVER_PI_PARTS.map(|part| m.constant(part));
    let one = m.constant(1.0);
    let even = m.add(m.fma(x, high, m.neg(one)), m.constant(TO_EVEN));
    let turns = m.add(m.sub(even, m.constant(TO_EVEN)), one);
    let angle = m.fma(x, low, m.fma(x, high, m.neg(turns)));
    // A quarter turn on, the sine falls.
    before_cliff(m, x, m.neg(fast_wave(m, angle, even)))
}

/// Sine of half turns for fast math: as [`reduced_sin`], the reduction exact.
#[inline(always)]
pub fn fast_sinpi<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let two = m.constant(2.0);
    let even = m.fma(x, two, m.constant(TO_EVEN));
    let turns = m.sub(even, m.constant(TO_EVEN));
    fast_wave(m, m.fma(x, two, m.neg(turns)), even)
}

/// Cosine of half turns for fast math: as [`reduced_cos`], the reduction exact.
#[inline(always)]
pub fn fast_cospi<M: Machine>(m: &M, x: M::Float) -> M::Float {
    let (one, two) = (m.constant(1.0), m.constant(2.0));
    let even = m.add(m.fma(x, two, m.neg(one)), m.constant(TO_EVEN));
    let turns = m.add(m.sub(even, m.constant(TO_EVEN)), one);
    m.neg(fast_wave(m, m.fma(x, two, m.neg(turns)), even))
}

/// `fast_sinpi(x) · rcp(fast_cospi(x))`.
#[inline(always)]
pub fn fast_tanpi<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.mul(fast_sinpi(m, x), m.rcp(fast_cospi(m, x)))
}

/// `reduced_sin(x) · rcp(reduced_cos(x))`.
#[inline(always)]
pub fn reduced_tan<M: Machine>(m: &M, x: M::Float) -> M::Float {
    m.mul(reduced_sin(m, x), m.rcp(reduced_cos(m, x)))
}

#[cfg(test)]
mod tests {
    use crate::math::accuracy::{every, max_ulps, within};
    use crate::math::{fast, g16, precise};

    #[test]
    fn precise_sine_and_cosine_up_to_a_hundred_thousand() {
        for (from, to) in [(0x3000_0000, 0x47c3_5000), (0xb000_0000, 0xc7c3_5000)] {
            within(1.5, max_ulps(every(from, to, 173), precise::sin, f64::sin));
            within(1.5, max_ulps(every(from, to, 173), precise::cos, f64::cos));
            within(3.2, max_ulps(every(from, to, 173), precise::tan, f64::tan));
        }
    }

    #[test]
    fn precise_sine_and_cosine_up_to_the_largest_number() {
        // The host's sine reduces exactly too.
        for (from, to) in [(0x47c3_5000, 0x7f7f_ffff), (0xc7c3_5000, 0xff7f_ffff)] {
            within(1.5, max_ulps(every(from, to, 173), precise::sin, f64::sin));
            within(1.5, max_ulps(every(from, to, 173), precise::cos, f64::cos));
            within(3.2, max_ulps(every(from, to, 173), precise::tan, f64::tan));
        }
        for bits in (0..=u32::MAX).step_by(99_991) {
            let x = f32::from_bits(bits);
            if !crate::math::is_far(x) {
                assert_eq!(
                    precise::sin(x).to_bits(),
                    crate::math::near::sin(x).to_bits()
                );
            }
        }
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
    fn reduced_sine_and_cosine_are_within_two_and_a_half_units() {
        for (from, to) in [(0x3000_0000, 0x42c8_0000), (0xb000_0000, 0xc2c8_0000)] {
            within(2.6, max_ulps(every(from, to, 173), g16::sin, f64::sin));
            within(2.6, max_ulps(every(from, to, 173), g16::cos, f64::cos));
        }
        for x in every(0x42c8_0000, 0x4ac9_0fda, 97) {
            for (given, wanted) in [
                (g16::sin(x), f64::from(x).sin()),
                (g16::cos(x), f64::from(x).cos()),
            ] {
                assert!((f64::from(given) - wanted).abs() <= 1.5e-7, "{x}");
            }
        }
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
        for x in [
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            6_588_398.0,
            f32::MAX,
        ] {
            assert_eq!(
                (g16::sin(x).to_bits(), g16::cos(x).to_bits()),
                (0, 0),
                "{x}"
            );
        }
        for bits in [0x8000_0000, 1, 0x8000_0001, 0x007f_ffff] {
            assert_eq!(g16::sin(f32::from_bits(bits)).to_bits(), bits);
        }
    }
}

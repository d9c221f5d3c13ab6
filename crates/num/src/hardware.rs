//! The transcendental instructions: reciprocal, reciprocal square root, base-2 exponential and logarithm, and the two
//! halves of sine.
//!
//! The hardware's exact bits are not documented. *Chosen*: the result is the double-precision value rounded to single,
//! so the error is at most 0.51 units in the last place (measured over all inputs where that is possible, see the tests
//! of each; the hardware itself is specified to about one). The logarithm alone is truncated toward zero, which explains
//! 115 of 116 finite results published for an M4 (github.com/ADevWithAnIdea/agx-re, EXP-0103); the reciprocals and the
//! exponential of that chip are within one unit of the exact value by no rule that is known. Everything is computed with
//! operations that round once: the same bits everywhere, and vector code in loops.

use crate::flush::{NAN32, finish, flush};

/// The polynomial of [`exp2`], by the distance from the nearest integer.
pub const EXP2: [f64; 8] = [
    1.0,
    0.693147180704532,
    0.24022651066561082,
    0.05550410365991117,
    0.00961803813205268,
    0.0013333935056476114,
    0.00015466756321578365,
    1.519615621344945e-05,
];
/// Adding this to a single rounds it to an integer, which then stands in the last bits.
pub const EXP2_ROUND: f32 = 12_582_912.0;
/// The polynomial of [`log2`]: log₂(m) = s · P(s²) with s = (m − 1) / (m + 1), relative error 2·10⁻¹⁶.
pub const LOG2: [f64; 7] = [
    2.8853900817779268,
    0.9617966939248263,
    0.5770780171114203,
    0.4121984177473661,
    0.320615503587804,
    0.26146813053011553,
    0.24266830406262335,
];
/// The polynomial of [`sin_pt_2`], by the square.
pub const SIN: [f64; 7] = [
    1.5707963267947986,
    -0.645964097497164,
    0.07969262610685342,
    -0.004681753326057944,
    0.00016043892990761822,
    -3.5955981536436242e-06,
    5.4589878388473287e-08,
];

/// `1 / x`, correctly rounded. Zeros give infinities of their sign and the other way round.
#[inline(always)]
pub fn rcp(x: f32) -> f32 {
    finish(1.0 / flush(x))
}

/// `1 / sqrt(x)`. Zeros give infinities of their sign, negatives NaN.
#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    let x = flush(x);
    let result = finish((1.0 / f64::from(x).sqrt()) as f32);
    if x == 0.0 {
        f32::INFINITY.copysign(x)
    } else {
        result
    }
}

/// As [`rsqrt`], but such that multiplying by `x` gives its square root for zeros and infinity too.
#[inline(always)]
pub fn rsqrt_special(x: f32) -> f32 {
    let x = flush(x);
    let result = rsqrt(x);
    let result = if x == f32::INFINITY {
        f32::INFINITY
    } else {
        result
    };
    if x == 0.0 { 0.0 } else { result }
}

/// `2^x`, exact for integers; relative error of the double-precision value 4.7·10⁻¹¹.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    // Denormals need no flush: they give one, as zeros do. At 128 the exponent comes out as that of infinity.
    let within = if x > 128.0 { 128.0 } else { x };
    let shifted = within + EXP2_ROUND;
    let rest = within - (shifted - EXP2_ROUND);
    let fraction = horner(&EXP2, f64::from(rest)) as f32;
    let result = fraction.to_bits().wrapping_add(shifted.to_bits() << 23);
    let result = if x < -126.0 { 0 } else { result };
    f32::from_bits(if x.is_nan() { NAN32.to_bits() } else { result })
}

/// `log2(x)`, truncated toward zero: −∞ for zeros, NaN for negatives, exact for powers of two.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    let x = flush(x);
    let (mantissa, exponent) = split(x);
    let m = f64::from(mantissa);
    let s = (m - 1.0) / (m + 1.0);
    let result = f64::from(exponent) + s * horner(&LOG2, s * s);
    // The bits that single precision does not have are cut off; no logarithm of a single is tiny.
    let finite = f64::from_bits(result.to_bits() & !0x1fff_ffff) as f32;
    if x == 0.0 {
        f32::NEG_INFINITY
    } else if x == f32::INFINITY {
        x
    } else if x > 0.0 {
        finite
    } else {
        NAN32
    }
}

/// A positive normal number as `mantissa * 2^exponent`, the mantissa between √½ and √2. Nonsense for others.
#[inline(always)]
pub(crate) fn split(x: f32) -> (f32, i32) {
    let bits = x.to_bits();
    let above = bits.wrapping_sub(0x3f35_04f3);
    let mantissa = f32::from_bits(bits.wrapping_sub(above & 0xff80_0000));
    (mantissa, above as i32 >> 23)
}

/// First half of sine: folds an angle in quarter turns, [0, 4), to [−1, 1] such that the sine of both is the same.
#[inline(always)]
pub fn sin_pt_1(angle: f32) -> f32 {
    let angle = flush(angle);
    // Angles outside are brought in first; inside this changes nothing.
    let angle = angle - 4.0 * (angle * 0.25).floor();
    let folded = if angle < 1.0 {
        angle
    } else if angle < 3.0 {
        2.0 - angle
    } else {
        angle - 4.0
    };
    finish(folded)
}

/// Second half of sine: `sin(π/2 · y) / y` for y in [−1, 1]; multiplied by `y` this is the sine.
#[inline(always)]
pub fn sin_pt_2(y: f32) -> f32 {
    let y = f64::from(flush(y));
    finish(horner(&SIN, y * y) as f32)
}

#[inline(always)]
fn horner<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut index = N - 1;
    while index > 0 {
        index -= 1;
        sum = sum.mul_add(x, coefficients[index]);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::accuracy::{every, max_ulps};

    #[test]
    fn errors_stay_below_0_51_units_in_the_last_place() {
        let bound = 0.51;
        assert!(max_ulps(every(0x0080_0000, 0x7f00_0000, 997), rcp, |x| 1.0 / x) <= bound);
        assert!(
            max_ulps(every(0x0080_0000, 0x7f7f_ffff, 997), rsqrt, |x| 1.0
                / x.sqrt())
                <= bound
        );
        assert!(max_ulps(every(0x3000_0000, 0x42fc_0000, 499), exp2, f64::exp2) <= bound);
        assert!(max_ulps(every(0xb000_0000, 0xc2fb_0000, 499), exp2, f64::exp2) <= bound);
        let sinc = |y: f64| (y * std::f64::consts::FRAC_PI_2).sin() / y;
        assert!(max_ulps(every(0x3000_0000, 0x3f80_0000, 499), sin_pt_2, sinc) <= bound);
    }

    #[test]
    fn the_logarithm_is_truncated() {
        for x in every(0x0080_0000, 0x7f7f_ffff, 997).chain(every(0x3f00_0000, 0x4000_0000, 37)) {
            let (given, exact) = (f64::from(log2(x)), f64::from(x).log2());
            // Double precision may be off in its last bit.
            let rounded_away = given.abs() - exact.abs();
            assert!(
                rounded_away <= exact.abs() * 1e-15,
                "{x:e}: {given} {exact}"
            );
        }
        assert!(max_ulps(every(0x0080_0000, 0x7f7f_ffff, 997), log2, f64::log2) <= 1.0);
        assert!(max_ulps(every(0x3f00_0000, 0x4000_0000, 37), log2, f64::log2) <= 1.0);
    }

    #[test]
    fn powers_of_two_are_exact() {
        for exponent in -126..=127 {
            let power = 2f32.powi(exponent);
            assert_eq!(exp2(exponent as f32), power);
            assert_eq!(log2(power), exponent as f32);
            if exponent < 127 {
                assert_eq!(rcp(power), 2f32.powi(-exponent));
            }
        }
    }

    #[test]
    fn special_values() {
        let inf = f32::INFINITY;
        assert_eq!(
            (rcp(0.0), rcp(-0.0), rcp(inf), rcp(-inf).to_bits()),
            (inf, -inf, 0.0, 0x8000_0000)
        );
        assert_eq!(rcp(f32::MAX).to_bits(), 0);
        assert_eq!((rsqrt(0.0), rsqrt(-0.0), rsqrt(inf)), (inf, -inf, 0.0));
        assert_eq!(rsqrt(-1.0).to_bits(), 0x7fc0_0000);
        for x in [0.0, -0.0, 4.0, inf] {
            assert_eq!((rsqrt_special(x) * x).to_bits(), x.sqrt().to_bits());
        }
        assert_eq!(
            (exp2(128.0), exp2(-127.0), exp2(inf), exp2(-inf)),
            (inf, 0.0, inf, 0.0)
        );
        assert_eq!((log2(0.0), log2(-0.0), log2(inf)), (-inf, -inf, inf));
        assert_eq!(log2(f32::from_bits(1)), -inf);
        for nan in [
            log2(-1.0),
            exp2(f32::NAN),
            log2(f32::NAN),
            rcp(f32::NAN),
            sin_pt_1(inf),
        ] {
            assert_eq!(nan.to_bits(), 0x7fc0_0000);
        }
    }

    #[test]
    fn folding_an_angle_is_exact() {
        assert_eq!(
            [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5].map(sin_pt_1),
            [0.0, 0.5, 1.0, 0.5, 0.0, -0.5, -1.0, -0.5]
        );
        assert_eq!(sin_pt_1(1.0 + f32::EPSILON), 1.0 - f32::EPSILON);
    }
}

//! Single-precision operations: flushed in, flushed out, one NaN.
//!
//! ```
//! use assay_num::single;
//! // A denormal operand counts as zero.
//! assert_eq!(single::add(f32::from_bits(1), 0.0).to_bits(), 0);
//! // The product and sum are rounded once.
//! assert_eq!(single::fma(1.0 + f32::EPSILON, 1.0 + f32::EPSILON, -1.0 - 2.0 * f32::EPSILON), 2f32.powi(-46));
//! ```

use crate::flush::{NAN32, canonical, finish, flush};

/// `a + b`.
#[inline(always)]
pub fn add(a: f32, b: f32) -> f32 {
    finish(flush(a) + flush(b))
}

/// `a - b`.
#[inline(always)]
pub fn sub(a: f32, b: f32) -> f32 {
    finish(flush(a) - flush(b))
}

/// `a * b`.
#[inline(always)]
pub fn mul(a: f32, b: f32) -> f32 {
    finish(flush(a) * flush(b))
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    finish(flush(a).mul_add(flush(b), flush(c)))
}

/// The same operations for operands that are known to be flushed already: results of other operations, mostly.
/// On such operands the bits are those of the functions above.
pub mod flushed {
    use crate::flush::finish;

    /// `a + b`.
    #[inline(always)]
    pub fn add(a: f32, b: f32) -> f32 {
        finish(a + b)
    }

    /// `a - b`.
    #[inline(always)]
    pub fn sub(a: f32, b: f32) -> f32 {
        finish(a - b)
    }

    /// `a * b`.
    #[inline(always)]
    pub fn mul(a: f32, b: f32) -> f32 {
        finish(a * b)
    }

    /// `a * b + c`, rounded once.
    #[inline(always)]
    pub fn fma(a: f32, b: f32, c: f32) -> f32 {
        finish(a.mul_add(b, c))
    }
}

/// `a / b`, correctly rounded.
#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    finish(flush(a) / flush(b))
}

/// Square root, correctly rounded.
#[inline(always)]
pub fn sqrt(value: f32) -> f32 {
    canonical(flush(value).sqrt())
}

/// `a - b * trunc(a / b)`, exact, with the sign of `a`.
#[inline(always)]
pub fn rem(a: f32, b: f32) -> f32 {
    finish(flush(a) % flush(b))
}

/// Whether both are zeros or denormals.
#[inline(always)]
fn both_tiny(a: f32, b: f32) -> bool {
    (a.to_bits() | b.to_bits()) & 0x7f80_0000 == 0
}

/// The smaller; the other one if one is NaN; `b` of two equal ones. The bits of the operand are kept.
#[inline(always)]
pub fn min(a: f32, b: f32) -> f32 {
    let chosen = if a < b { a } else { b };
    // Two denormals are two zeros.
    let chosen = if both_tiny(a, b) { b } else { chosen };
    if b.is_nan() { a } else { chosen }
}

/// The larger; the other one if one is NaN; `b` of two equal ones. The bits of the operand are kept.
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
    let chosen = if a > b { a } else { b };
    // Two denormals are two zeros.
    let chosen = if both_tiny(a, b) { b } else { chosen };
    if b.is_nan() { a } else { chosen }
}

/// The smaller, NaN if one is NaN, −0 below +0.
#[inline(always)]
pub fn minimum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        return NAN32;
    }
    let (a, b) = (flush(a), flush(b));
    if a < b || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

/// The larger, NaN if one is NaN, +0 above −0.
#[inline(always)]
pub fn maximum(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        return NAN32;
    }
    let (a, b) = (flush(a), flush(b));
    if a > b || (a == b && a.is_sign_positive()) {
        a
    } else {
        b
    }
}

crate::choose::of_three!(f32);

/// Clamped to [0, 1]; NaN, negatives and −0 become +0.
#[inline(always)]
pub fn saturate(value: f32) -> f32 {
    let value = flush(value);
    // Comparisons with NaN are false.
    let positive = if value > 0.0 { value } else { 0.0 };
    if positive > 1.0 { 1.0 } else { positive }
}

/// Sign bit flipped; nothing else.
#[inline(always)]
pub fn neg(value: f32) -> f32 {
    f32::from_bits(value.to_bits() ^ 0x8000_0000)
}

/// Sign bit cleared; nothing else.
#[inline(always)]
pub fn abs(value: f32) -> f32 {
    f32::from_bits(value.to_bits() & 0x7fff_ffff)
}

/// The magnitude of the first with the sign bit of the second.
#[inline(always)]
pub fn copysign(magnitude: f32, sign: f32) -> f32 {
    f32::from_bits(magnitude.to_bits() & 0x7fff_ffff | sign.to_bits() & 0x8000_0000)
}

/// Largest integer not above.
#[inline(always)]
pub fn floor(value: f32) -> f32 {
    canonical(flush(value).floor())
}

/// Smallest integer not below.
#[inline(always)]
pub fn ceil(value: f32) -> f32 {
    canonical(flush(value).ceil())
}

/// Integer part.
#[inline(always)]
pub fn trunc(value: f32) -> f32 {
    canonical(flush(value).trunc())
}

/// Nearest integer, halfway to even.
#[inline(always)]
pub fn rint(value: f32) -> f32 {
    canonical(flush(value).round_ties_even())
}

/// Nearest integer, halfway away from zero; negative numbers above −½ give +0, NaN passes through.
#[inline(always)]
pub fn round(value: f32) -> f32 {
    crate::math::precise::round(value)
}

/// `value - floor(value)`, below 1; 0 for infinities.
#[inline(always)]
pub fn fract(value: f32) -> f32 {
    let value = flush(value);
    let part = value - value.floor();
    // Just below an integer the difference rounds up to 1.
    let part = if part >= 1.0 {
        f32::from_bits(0x3f7f_ffff)
    } else {
        part
    };
    canonical(if value.is_infinite() {
        copysign(0.0, value)
    } else {
        part
    })
}

/// 1, −1, or the zero itself; 0 for NaN.
#[inline(always)]
pub fn sign(value: f32) -> f32 {
    let value = flush(value);
    if value > 0.0 {
        1.0
    } else if value < 0.0 {
        -1.0
    } else if value.is_nan() {
        0.0
    } else {
        value
    }
}

/// The next number from `from` toward `to`. Denormals are skipped.
pub fn next_after(from: f32, to: f32) -> f32 {
    let (from, to) = (flush(from), flush(to));
    if from.is_nan() || to.is_nan() {
        return NAN32;
    }
    if from == to {
        return to;
    }
    if from == 0.0 {
        return copysign(f32::MIN_POSITIVE, to);
    }
    flush(if to > from {
        from.next_up()
    } else {
        from.next_down()
    })
}

/// `value * 2^exponent`, rounded once.
#[inline(always)]
pub fn ldexp(value: f32, exponent: i32) -> f32 {
    let value = f64::from(flush(value));
    // In double precision the scaling is exact over the whole range that is not certain overflow or underflow.
    let exponent = exponent.clamp(-600, 600);
    let scale = f64::from_bits(((1023 + exponent) as u64) << 52);
    finish((value * scale) as f32)
}

/// The fraction in [0.5, 1) and the exponent with `value = fraction * 2^exponent`; zeros, infinities and NaN with 0.
pub fn frexp(value: f32) -> (f32, i32) {
    let value = canonical(flush(value));
    if value == 0.0 || !value.is_finite() {
        return (value, 0);
    }
    let bits = value.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 126;
    (f32::from_bits(bits & 0x807f_ffff | 0x3f00_0000), exponent)
}

/// The exponent of a number; `i32::MIN` for zero, `i32::MAX` for infinities and NaN.
pub fn ilogb(value: f32) -> i32 {
    let value = flush(value);
    if value == 0.0 {
        i32::MIN
    } else if value.is_finite() {
        (value.to_bits() >> 23 & 0xff) as i32 - 127
    } else {
        i32::MAX
    }
}

/// Compares as the hardware does: denormals count as zero.
#[inline(always)]
pub fn less(a: f32, b: f32) -> bool {
    flush(a) < flush(b)
}

/// Compares as the hardware does: denormals count as zero.
#[inline(always)]
pub fn less_equal(a: f32, b: f32) -> bool {
    flush(a) <= flush(b)
}

/// Compares as the hardware does: denormals count as zero.
#[inline(always)]
pub fn equal(a: f32, b: f32) -> bool {
    flush(a) == flush(b)
}

/// Which classes of `llvm.is.fpclass` a number belongs to, as bits. Nothing is flushed.
pub fn class(value: f32) -> u32 {
    let negative = value.is_sign_negative();
    let side = |positive: u32, minus: u32| if negative { minus } else { positive };
    match value.classify() {
        std::num::FpCategory::Nan => {
            if value.to_bits() & 0x0040_0000 == 0 {
                1
            } else {
                2
            }
        }
        std::num::FpCategory::Infinite => side(0x200, 0x4),
        std::num::FpCategory::Normal => side(0x100, 0x8),
        std::num::FpCategory::Subnormal => side(0x80, 0x10),
        std::num::FpCategory::Zero => side(0x40, 0x20),
    }
}

/// [`class`] for a number in another format: its bits, and how many of them are the fraction's. Formats of 16 bits.
pub(crate) fn class16(bits: u16, fraction_bits: u32) -> u32 {
    let fraction = u32::from(bits) & ((1 << fraction_bits) - 1);
    let exponent = (u32::from(bits) & 0x7fff) >> fraction_bits;
    let largest = 0x7fff >> fraction_bits;
    let quiet = fraction >> (fraction_bits - 1) != 0;
    let sign = u32::from(bits) << 16 & 0x8000_0000;
    // The number of the same class in single precision.
    let like = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => 1,
        (e, 0) if e == largest => 0x7f80_0000,
        (e, _) if e == largest && quiet => 0x7fc0_0000,
        (e, _) if e == largest => 0x7f80_0001,
        _ => 0x3f80_0000,
    };
    class(f32::from_bits(like | sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TINY: f32 = f32::MIN_POSITIVE;

    #[test]
    fn a_result_below_the_smallest_normal_is_zero_of_its_sign() {
        assert_eq!(mul(TINY, 0.5).to_bits(), 0);
        assert_eq!(mul(TINY, -0.5).to_bits(), 0x8000_0000);
        assert_eq!(sub(TINY * 1.5, TINY).to_bits(), 0);
        assert_eq!(fma(TINY, 0.25, TINY * 0.25).to_bits(), 0);
        assert_eq!(div(TINY, 2.0).to_bits(), 0);
    }

    #[test]
    fn a_result_that_rounds_up_to_the_smallest_normal_is_kept() {
        let below_one = f32::from_bits(0x3f7f_ffff);
        assert_eq!(mul(TINY, below_one), TINY);
        assert_eq!(fma(TINY, -below_one, 0.0), -TINY);
        assert_eq!(mul(TINY, f32::from_bits(0x3f7f_fffe)).to_bits(), 0);
    }

    #[test]
    fn denormal_operands_count_as_zero() {
        let denormal = f32::from_bits(0x007f_ffff);
        assert_eq!(mul(denormal, 1e38).to_bits(), 0);
        assert_eq!(add(denormal, 1.0), 1.0);
        assert_eq!(div(1.0, -denormal), f32::NEG_INFINITY);
        assert!(equal(denormal, 0.0));
        assert!(!less(0.0, denormal));
        assert_eq!(floor(-denormal).to_bits(), 0x8000_0000);
    }

    #[test]
    fn invalid_operations_give_the_one_nan() {
        let inf = f32::INFINITY;
        for result in [
            sub(inf, inf),
            mul(0.0, inf),
            fma(0.0, inf, 1.0),
            fma(1.0, inf, -inf),
            div(0.0, 0.0),
            div(inf, inf),
            sqrt(-1.0),
            rem(1.0, 0.0),
            add(f32::from_bits(0xff80_0001), 1.0),
        ] {
            assert_eq!(result.to_bits(), 0x7fc0_0000);
        }
        assert_eq!(sqrt(-0.0).to_bits(), 0x8000_0000);
    }

    #[test]
    fn zeros_keep_ieee_signs() {
        assert_eq!(add(-0.0, -0.0).to_bits(), 0x8000_0000);
        assert_eq!(add(-0.0, 0.0).to_bits(), 0);
        assert_eq!(sub(1.0, 1.0).to_bits(), 0);
        assert_eq!(fma(-1.0, 0.0, -0.0).to_bits(), 0x8000_0000);
    }

    #[test]
    fn the_smaller_and_the_larger_keep_the_bits_of_an_operand() {
        let numbers = [
            0,
            0x8000_0000,
            1,
            0x8000_0001,
            0x007f_ffff,
            0x807f_ffff,
            0x0080_0000,
            0x8080_0000,
            0x3f80_0000,
            0xbf80_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0xffc0_0000,
            0x7f80_0001,
            0x7fc1_2345,
        ]
        .map(f32::from_bits);
        for (a, b) in numbers.iter().flat_map(|&a| numbers.map(|b| (a, b))) {
            let first = |is: bool| if is || b.is_nan() { a } else { b }.to_bits();
            assert_eq!(
                min(a, b).to_bits(),
                first(flush(a) < flush(b)),
                "{a:e} {b:e}"
            );
            assert_eq!(
                max(a, b).to_bits(),
                first(flush(a) > flush(b)),
                "{a:e} {b:e}"
            );
        }
    }

    #[test]
    fn minimum_and_maximum_of_nan_and_zeros() {
        let nan = f32::from_bits(0xffc0_0001);
        assert_eq!(min(nan, 1.0), 1.0);
        assert_eq!(min(1.0, nan), 1.0);
        assert_eq!(max(nan, -1.0), -1.0);
        assert_eq!(min(nan, nan).to_bits(), nan.to_bits());
        assert_eq!(min(0.0, -0.0).to_bits(), 0x8000_0000);
        assert_eq!(min(-0.0, 0.0).to_bits(), 0);
        let denormal = f32::from_bits(5);
        assert_eq!(min(denormal, 1.0).to_bits(), 5);
        assert_eq!(minimum(0.0, -0.0).to_bits(), 0x8000_0000);
        assert_eq!(maximum(-0.0, 0.0).to_bits(), 0);
        assert!(maximum(nan, 1.0).is_nan());
    }

    #[test]
    fn saturation_clamps_and_clears() {
        assert_eq!(saturate(f32::NAN).to_bits(), 0);
        assert_eq!(saturate(-0.0).to_bits(), 0);
        assert_eq!(saturate(-3.0).to_bits(), 0);
        assert_eq!(saturate(0.25), 0.25);
        assert_eq!(saturate(f32::INFINITY), 1.0);
    }

    #[test]
    fn rounding_to_integers() {
        assert_eq!(
            (rint(2.5), rint(3.5), rint(-0.5).to_bits()),
            (2.0, 4.0, 0x8000_0000)
        );
        assert_eq!(
            (round(2.5), round(-2.5), round(0.49999997)),
            (3.0, -3.0, 0.0)
        );
        assert_eq!(fract(-1e-9), f32::from_bits(0x3f7f_ffff));
        assert_eq!(fract(2.75), 0.75);
        assert_eq!(fract(f32::INFINITY), 0.0);
    }

    #[test]
    fn scaling_and_splitting() {
        assert_eq!(ldexp(1.5, 3), 12.0);
        assert_eq!(ldexp(1.5, -127).to_bits(), 0);
        assert_eq!(ldexp(1.0, 128), f32::INFINITY);
        assert_eq!(ldexp(f32::MAX, -400).to_bits(), 0);
        assert_eq!(frexp(-12.0), (-0.75, 4));
        assert_eq!(frexp(0.0), (0.0, 0));
        assert_eq!(ilogb(8.5), 3);
        assert_eq!(next_after(1.0, 2.0), 1.0 + f32::EPSILON);
        assert_eq!(next_after(0.0, -1.0), -TINY);
        assert_eq!(next_after(TINY, 0.0).to_bits(), 0);
    }

    #[test]
    fn classes_are_llvms() {
        let cases = [
            (f32::from_bits(0x7f80_0001), 0x1),
            (f32::NAN, 0x2),
            (f32::NEG_INFINITY, 0x4),
            (-1.0, 0x8),
            (f32::from_bits(0x8000_0001), 0x10),
            (-0.0, 0x20),
            (0.0, 0x40),
            (f32::from_bits(1), 0x80),
            (1.0, 0x100),
            (f32::INFINITY, 0x200),
        ];
        for (value, class_bits) in cases {
            assert_eq!(class(value), class_bits, "{value}");
        }
    }
}

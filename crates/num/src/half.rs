//! Half-precision operations on bit patterns: denormals kept, one NaN, each result rounded once.

use crate::convert::{f16_to_f32, f32_to_f16};
use crate::single;

/// `a + b`.
#[inline(always)]
pub fn add(a: u16, b: u16) -> u16 {
    // 24 bits are twice 11 plus two: rounding to single first changes nothing (Figueroa), here and below.
    f32_to_f16(f16_to_f32(a) + f16_to_f32(b))
}

/// `a - b`.
#[inline(always)]
pub fn sub(a: u16, b: u16) -> u16 {
    f32_to_f16(f16_to_f32(a) - f16_to_f32(b))
}

/// `a * b`.
#[inline(always)]
pub fn mul(a: u16, b: u16) -> u16 {
    f32_to_f16(f16_to_f32(a) * f16_to_f32(b))
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub fn fma(a: u16, b: u16, c: u16) -> u16 {
    // The product of two 11-bit numbers is exact in single precision. The sum is not, but its error is (Knuth's
    // two-sum), and rounding the sum to odd leaves what the rounding to half needs to know.
    let (product, c) = (f16_to_f32(a) * f16_to_f32(b), f16_to_f32(c));
    let sum = product + c;
    let other = sum - product;
    let error = (product - (sum - other)) + (c - other);
    let bits = sum.to_bits();
    let rounded_away = (error.to_bits() ^ bits) >> 31;
    let odd = bits.wrapping_sub(rounded_away) | 1;
    let inexact = error != 0.0 && sum.is_finite();
    f32_to_f16(if inexact { f32::from_bits(odd) } else { sum })
}

/// `a / b`.
#[inline(always)]
pub fn div(a: u16, b: u16) -> u16 {
    f32_to_f16(f16_to_f32(a) / f16_to_f32(b))
}

/// Square root.
#[inline(always)]
pub fn sqrt(value: u16) -> u16 {
    f32_to_f16(f16_to_f32(value).sqrt())
}

/// Remainder with the sign of `a`; exact.
#[inline(always)]
pub fn rem(a: u16, b: u16) -> u16 {
    f32_to_f16(f16_to_f32(a) % f16_to_f32(b))
}

/// What a single-precision operation writes to a half register: its result, rounded to single already, rounded again.
#[inline(always)]
pub fn from_single_result(value: f32) -> u16 {
    f32_to_f16(value)
}

/// The smaller; the other one if one is NaN; `b` of two equal ones. The bits of the operand are kept.
#[inline(always)]
pub fn min(a: u16, b: u16) -> u16 {
    let (x, y) = (f16_to_f32(a), f16_to_f32(b));
    if x < y || y.is_nan() { a } else { b }
}

/// The larger; the other one if one is NaN; `b` of two equal ones. The bits of the operand are kept.
#[inline(always)]
pub fn max(a: u16, b: u16) -> u16 {
    let (x, y) = (f16_to_f32(a), f16_to_f32(b));
    if x > y || y.is_nan() { a } else { b }
}

crate::choose::of_three!(u16);

/// Clamped to [0, 1]; NaN, negatives and −0 become +0.
#[inline(always)]
pub fn saturate(value: u16) -> u16 {
    f32_to_f16(single::saturate(f16_to_f32(value)))
}

/// Sign bit flipped.
#[inline(always)]
pub const fn neg(value: u16) -> u16 {
    value ^ 0x8000
}

/// Sign bit cleared.
#[inline(always)]
pub const fn abs(value: u16) -> u16 {
    value & 0x7fff
}

/// A single-precision function applied to a half: widened, computed, rounded.
#[inline(always)]
pub fn lift(value: u16, function: impl Fn(f32) -> f32) -> u16 {
    f32_to_f16(function(f16_to_f32(value)))
}

/// A single-precision function applied to two halves: widened, computed, rounded.
#[inline(always)]
pub fn lift2(a: u16, b: u16, function: impl Fn(f32, f32) -> f32) -> u16 {
    f32_to_f16(function(f16_to_f32(a), f16_to_f32(b)))
}

/// The next half from `from` toward `to`.
pub fn next_after(from: u16, to: u16) -> u16 {
    let (x, y) = (f16_to_f32(from), f16_to_f32(to));
    if x.is_nan() || y.is_nan() {
        0x7e00
    } else if x == y {
        to
    } else if x == 0.0 {
        1 | to & 0x8000
    } else if (y > x) == (x > 0.0) {
        from + 1
    } else {
        from - 1
    }
}

/// Which classes of `llvm.is.fpclass` a number belongs to, as bits.
///
/// ```
/// assert_eq!(assay_num::half::class(0x0001), 0x80); // the smallest denormal
/// assert_eq!(assay_num::half::class(0xffff), 0x2); // a quiet NaN
/// ```
pub fn class(bits: u16) -> u32 {
    crate::single::class16(bits, 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::f64_to_f16;

    /// Exact rounding of `mantissa * 2^exponent` to half, on integers only.
    fn round_exact(mantissa: i128, exponent: i32) -> u16 {
        let sign = if mantissa < 0 { 0x8000 } else { 0 };
        let magnitude = mantissa.unsigned_abs();
        if magnitude == 0 {
            return sign;
        }
        let top = 127 - magnitude.leading_zeros() as i32 + exponent;
        let last = (top - 10).max(-24);
        let shift = last - exponent;
        let rounded = if shift <= 0 {
            magnitude << -shift
        } else if shift > 120 {
            0
        } else {
            let (kept, cut) = (magnitude >> shift, magnitude & ((1 << shift) - 1));
            let half = 1u128 << (shift - 1);
            kept + u128::from(cut > half || (cut == half && kept & 1 == 1))
        };
        // `rounded * 2^last`; a carry into the next power of two is still a short number.
        let value = rounded as f64 * 2f64.powi(last);
        if value >= 65520.0 {
            sign | 0x7c00
        } else {
            sign | f32_to_f16(value as f32)
        }
    }

    fn parts(bits: u16) -> (i128, i32) {
        let exponent = (bits >> 10 & 0x1f) as i32;
        let fraction = i128::from(bits & 0x3ff);
        let (mantissa, exponent) = if exponent == 0 {
            (fraction, -24)
        } else {
            (fraction + 1024, exponent - 25)
        };
        (
            if bits & 0x8000 != 0 {
                -mantissa
            } else {
                mantissa
            },
            exponent,
        )
    }

    #[test]
    fn a_fused_multiply_add_is_rounded_once() {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 40) as u16
        };
        let mut checked = 0;
        while checked < 2_000_000 {
            let (a, b, c) = (next(), next(), next());
            if [a, b, c].iter().any(|bits| bits & 0x7c00 == 0x7c00) {
                continue;
            }
            let ((ma, ea), (mb, eb), (mc, ec)) = (parts(a), parts(b), parts(c));
            let exponent = (ea + eb).min(ec);
            let exact = ((ma * mb) << (ea + eb - exponent)) + (mc << (ec - exponent));
            if exact == 0 {
                continue;
            }
            assert_eq!(
                fma(a, b, c),
                round_exact(exact, exponent),
                "{a:#x} {b:#x} {c:#x}"
            );
            checked += 1;
        }
    }

    #[test]
    fn fused_multiply_add_near_halfway_points() {
        // 1.5·2⁻ⁿ added to exact halfway points, for terms of very different size.
        for c in [0x3c00u16, 0x3c01, 0x7bff, 0x0400, 0x0001] {
            for a in [0x0001u16, 0x8001, 0x0400, 0x1400, 0x1000] {
                for b in [0x0001u16, 0x3c00, 0x3800, 0x0c00, 0x8c00] {
                    let ((ma, ea), (mb, eb), (mc, ec)) = (parts(a), parts(b), parts(c));
                    let exponent = (ea + eb).min(ec);
                    let exact = ((ma * mb) << (ea + eb - exponent)) + (mc << (ec - exponent));
                    assert_eq!(
                        fma(a, b, c),
                        round_exact(exact, exponent),
                        "{a:#x} {b:#x} {c:#x}"
                    );
                }
            }
        }
    }

    #[test]
    fn denormals_are_kept() {
        assert_eq!(add(1, 1), 2);
        assert_eq!(mul(0x0400, 0x3800), 0x0200);
        assert_eq!(sub(0x0400, 0x0001), 0x03ff);
        assert_eq!(fma(0x0001, 0x3800, 0x0001), 2);
    }

    #[test]
    fn special_values() {
        assert_eq!(add(0x7c00, 0xfc00), 0x7e00);
        assert_eq!(add(0x7bff, 0x7bff), 0x7c00);
        assert_eq!(fma(0x7c00, 0, 0x3c00), 0x7e00);
        assert_eq!(min(0x7e01, 0x3c00), 0x3c00);
        assert_eq!(max(0x3c00, 0xfe00), 0x3c00);
        assert_eq!(saturate(0x8000), 0);
        assert_eq!(saturate(0x4000), 0x3c00);
        assert_eq!(next_after(0, 0x8001), 0x8001);
        assert_eq!(next_after(0x3c00, 0x4000), 0x3c01);
        assert_eq!(next_after(0xbc00, 0), 0xbbff);
    }

    #[test]
    fn a_single_operation_written_to_a_half_rounds_twice() {
        // 1 + 2⁻¹¹ + 2⁻²⁶ is above halfway; rounded to single it is exactly halfway and goes to even.
        let halfway = 1.0 + 2f32.powi(-11);
        let twice = from_single_result(single::fma(1.0, halfway, 2f32.powi(-26)));
        assert_eq!(twice, 0x3c00);
        assert_eq!(f64_to_f16(f64::from(halfway) + 2f64.powi(-26)), 0x3c01);
    }
}

//! Brain-float operations on bit patterns: the single-precision operation, rounded.

use crate::convert::{bf16_to_f32, f32_to_bf16};
use crate::flush::flush;
use crate::single;

/// A single-precision function of one brain float, rounded.
#[inline(always)]
pub fn lift(value: u16, function: impl Fn(f32) -> f32) -> u16 {
    f32_to_bf16(function(bf16_to_f32(value)))
}

/// A single-precision function of two brain floats, rounded.
#[inline(always)]
pub fn lift2(a: u16, b: u16, function: impl Fn(f32, f32) -> f32) -> u16 {
    f32_to_bf16(function(bf16_to_f32(a), bf16_to_f32(b)))
}

/// `a + b`.
#[inline(always)]
pub fn add(a: u16, b: u16) -> u16 {
    lift2(a, b, single::add)
}

/// `a - b`.
#[inline(always)]
pub fn sub(a: u16, b: u16) -> u16 {
    lift2(a, b, single::sub)
}

/// `a * b`.
#[inline(always)]
pub fn mul(a: u16, b: u16) -> u16 {
    lift2(a, b, single::mul)
}

/// `a * b + c`: fused in single precision, then rounded.
#[inline(always)]
pub fn fma(a: u16, b: u16, c: u16) -> u16 {
    f32_to_bf16(single::fma(bf16_to_f32(a), bf16_to_f32(b), bf16_to_f32(c)))
}

/// `a / b`.
#[inline(always)]
pub fn div(a: u16, b: u16) -> u16 {
    lift2(a, b, single::div)
}

/// The smaller; the other one if one is NaN; `b` of two equal ones. The bits of the operand are kept.
#[inline(always)]
pub fn min(a: u16, b: u16) -> u16 {
    let chosen = single::min(bf16_to_f32(a), bf16_to_f32(b));
    (chosen.to_bits() >> 16) as u16
}

/// The larger; the other one if one is NaN; `b` of two equal ones. The bits of the operand are kept.
#[inline(always)]
pub fn max(a: u16, b: u16) -> u16 {
    let chosen = single::max(bf16_to_f32(a), bf16_to_f32(b));
    (chosen.to_bits() >> 16) as u16
}

crate::choose::of_three!(u16);

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

/// The next number from `from` toward `to`. Denormals are skipped.
pub fn next_after(from: u16, to: u16) -> u16 {
    let (x, y) = (flush(bf16_to_f32(from)), flush(bf16_to_f32(to)));
    if x.is_nan() || y.is_nan() {
        return 0x7fc0;
    }
    if x == y {
        return (y.to_bits() >> 16) as u16;
    }
    if x == 0.0 {
        return 0x0080 | to & 0x8000;
    }
    let next = if (y > x) == (x > 0.0) {
        from + 1
    } else {
        from - 1
    };
    let is_denormal = next & 0x7f80 == 0;
    if is_denormal { next & 0x8000 } else { next }
}

/// Which classes of `llvm.is.fpclass` a number belongs to, as bits.
///
/// ```
/// assert_eq!(assay_num::brain::class(0x0001), 0x80); // the smallest denormal
/// assert_eq!(assay_num::brain::class(0xffff), 0x2); // a quiet NaN
/// ```
pub fn class(bits: u16) -> u32 {
    crate::single::class16(bits, 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_rounded_to_eight_bits() {
        // 1 + 2⁻⁸ is halfway between 1 and its neighbour.
        assert_eq!(add(0x3f80, 0x3b80), 0x3f80);
        assert_eq!(add(0x3f81, 0x3b80), 0x3f82);
        assert_eq!(mul(0x7f7f, 0x4000), 0x7f80);
        assert_eq!(sub(0x7f80, 0x7f80), 0x7fc0);
    }

    #[test]
    fn the_next_number_is_one_of_eight_bits() {
        assert_eq!(next_after(0x3f80, 0x4000), 0x3f81);
        assert_eq!(next_after(0xbf80, 0x0000), 0xbf7f);
        assert_eq!(next_after(0x0000, 0xbf80), 0x8080);
        assert_eq!(next_after(0x0080, 0x0000), 0);
        assert_eq!(next_after(0x0001, 0x8001), 0x8000);
        assert_eq!(next_after(0x7f7f, 0x7f80), 0x7f80);
        assert_eq!(next_after(0x7fc1, 0x3f80), 0x7fc0);
    }

    #[test]
    fn denormal_operands_count_as_zero() {
        assert_eq!(add(0x0001, 0x0001), 0);
        assert_eq!(max(0x0001, 0x8000), 0x8000);
    }
}

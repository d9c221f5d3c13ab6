//! Conversions between formats, with rounding modes and saturation.

/// Which way a result that does not fit is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rounding {
    /// To the nearest, halfway cases to the even one.
    #[default]
    NearestEven,
    /// Toward zero.
    TowardZero,
    /// Toward plus infinity.
    Up,
    /// Toward minus infinity.
    Down,
}

impl Rounding {
    /// A number rounded to an integer this way.
    #[inline(always)]
    pub fn round(self, value: f32) -> f32 {
        match self {
            Self::NearestEven => value.round_ties_even(),
            Self::TowardZero => value.trunc(),
            Self::Up => value.ceil(),
            Self::Down => value.floor(),
        }
    }
}

/// A half-precision number as a single; exact. NaN becomes the one NaN.
#[inline(always)]
pub const fn f16_to_f32(bits: u16) -> f32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let magnitude = (bits & 0x7fff) as u32;
    // The half's bits, moved into place, are the number times 2⁻¹¹²; multiplying by 2¹¹² is exact, denormals too.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
    // Masks instead of branches, so that loops over lanes become vector code.
    let special = all_ones_if(magnitude >= 0x7c00);
    let nan = all_ones_if(magnitude > 0x7c00);
    let number = scaled.to_bits() & !special | 0x7f80_0000 & special;
    f32::from_bits(number | 0x0040_0000 & nan | sign & !nan)
}

/// All ones if `holds`, else zero.
#[inline(always)]
const fn all_ones_if(holds: bool) -> u32 {
    0u32.wrapping_sub(holds as u32)
}

/// A brain float as a single; exact, all bits kept.
#[inline(always)]
pub const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// A single rounded to half precision, nearest even; NaN becomes `0x7e00`.
#[inline(always)]
pub const fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Below the smallest normal half, adding ½ puts the half's last bit at the single's last bit.
    let small = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let odd = magnitude >> 13 & 1;
    let normal = magnitude
        .wrapping_sub(0x3800_0000)
        .wrapping_add(0xfff + odd)
        >> 13;
    // Masks instead of branches, so that loops over lanes become vector code.
    let is_small = all_ones_if(magnitude < 0x3880_0000);
    let is_large = all_ones_if(magnitude >= 0x4780_0000);
    let nan = all_ones_if(magnitude > 0x7f80_0000);
    let rounded = small & is_small | normal & !is_small;
    let number = rounded & !is_large | 0x7c00 & is_large;
    (number | 0x0200 & nan | sign & !nan) as u16
}

/// A single rounded to half precision in a given way; NaN becomes `0x7e00`. What is too large becomes infinity, or the
/// largest half where rounding goes toward zero for its sign.
pub fn f32_to_f16_rounding(value: f32, rounding: Rounding) -> u16 {
    let nearest = f32_to_f16(value);
    if rounding == Rounding::NearestEven || value.is_nan() || value.is_infinite() {
        return nearest;
    }
    let wide = f16_to_f32(nearest);
    let toward_zero = match rounding {
        Rounding::TowardZero => true,
        Rounding::Up => value < 0.0,
        _ => value > 0.0,
    };
    match (
        toward_zero,
        wide.abs() > value.abs(),
        wide.abs() < value.abs(),
    ) {
        // One step toward zero is one less in the bits, one step away one more, whatever the sign.
        (true, true, _) => nearest - 1,
        (false, _, true) => nearest + 1,
        _ => nearest,
    }
}

/// A double rounded to half precision, nearest even, once; NaN becomes `0x7e00`.
#[inline(always)]
pub fn f64_to_f16(value: f64) -> u16 {
    // Rounding to odd at single precision keeps what the second rounding needs to know.
    f32_to_f16(f64_to_f32_odd(value))
}

/// A double cut to single precision with the last bit set if anything was cut off.
#[inline(always)]
fn f64_to_f32_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = nearest as f64;
    let bits = nearest.to_bits();
    // Where the nearest single is farther from zero, step back; then mark inexactness in the last bit.
    let cut = if back.abs() > value.abs() {
        bits.wrapping_sub(1)
    } else {
        bits
    };
    let inexact = back != value && !value.is_nan();
    f32::from_bits(if inexact { cut | 1 } else { bits })
}

/// A single rounded to a brain float, nearest even, denormals kept; NaN becomes `0x7fc0`.
#[inline(always)]
pub const fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        0x7fc0
    } else {
        rounded as u16
    }
}

/// A single as an integer of `bits` bits, saturating; NaN gives 0. The result is in the low bits.
pub fn f32_to_int(value: f32, bits: u32, signed: bool, rounding: Rounding) -> u64 {
    let bits = bits.clamp(1, 64);
    let rounded = rounding.round(crate::flush(value));
    let mask = u64::MAX >> (64 - bits);
    if signed {
        let (low, high) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        (rounded as i64).clamp(low, high) as u64 & mask
    } else {
        (rounded as u64).min(mask)
    }
}

/// The low `bits` bits of an integer as a single.
pub fn int_to_f32(value: u64, bits: u32, signed: bool, rounding: Rounding) -> f32 {
    let wide = extend(value, bits, signed);
    let nearest = wide as f32;
    let exact = nearest as i128;
    match rounding {
        Rounding::NearestEven => nearest,
        Rounding::TowardZero if exact.abs() > wide.abs() => step(nearest, wide < 0),
        Rounding::Up if exact < wide => step(nearest, true),
        Rounding::Down if exact > wide => step(nearest, false),
        _ => nearest,
    }
}

/// The neighbour of a number above or below it.
fn step(value: f32, up: bool) -> f32 {
    if up {
        value.next_up()
    } else {
        value.next_down()
    }
}

/// The low `bits` bits of an integer as a half, rounded once; what is too large becomes infinity.
pub fn int_to_f16(value: u64, bits: u32, signed: bool, rounding: Rounding) -> u16 {
    let wide = extend(value, bits, signed);
    // Nothing beyond 2¹⁷ matters, and everything below is exact in a single.
    let near = wide.clamp(-(1 << 20), 1 << 20) as f32;
    f32_to_f16_rounding(near, rounding)
}

/// [`f32_to_int`] of at most 32 bits, sign-extended to 32 if `signed`: without branches once the last three arguments
/// are known, for loops over lanes.
#[inline(always)]
pub fn f32_to_int32(value: f32, bits: u32, signed: bool, rounding: Rounding) -> u32 {
    let cut = 32 - bits.clamp(1, 32);
    let rounded = rounding.round(crate::flush(value));
    if signed {
        (rounded as i32).clamp(i32::MIN >> cut, i32::MAX >> cut) as u32
    } else {
        (rounded as u32).min(u32::MAX >> cut)
    }
}

/// [`int_to_f32`] of at most 32 bits: without branches once the last three arguments are known, for loops over lanes.
#[inline(always)]
pub fn int32_to_f32(value: u32, bits: u32, signed: bool, rounding: Rounding) -> f32 {
    let cut = 32 - bits.clamp(1, 32);
    let (int, natural) = ((value << cut) as i32 >> cut, value << cut >> cut);
    match (rounding, signed) {
        (Rounding::NearestEven, true) => int as f32,
        (Rounding::NearestEven, false) => natural as f32,
        (Rounding::TowardZero, _) => {
            let exact = if signed {
                f64::from(int)
            } else {
                f64::from(natural)
            };
            let nearest = exact as f32;
            let too_far = f64::from(nearest).abs() > exact.abs();
            f32::from_bits(nearest.to_bits() - u32::from(too_far))
        }
        _ => int_to_f32(u64::from(value), bits, signed, rounding),
    }
}

/// [`int_to_f16`] of at most 32 bits: without branches once the last three arguments are known, for loops over lanes.
#[inline(always)]
pub fn int32_to_f16(value: u32, bits: u32, signed: bool, rounding: Rounding) -> u16 {
    let cut = 32 - bits.clamp(1, 32);
    // As in `int_to_f16`: nothing beyond 2¹⁷ matters, and everything below is exact in a single.
    let near = if signed {
        ((value << cut) as i32 >> cut).clamp(-(1 << 20), 1 << 20)
    } else {
        (value << cut >> cut).min(1 << 20) as i32
    } as f32;
    let nearest = f32_to_f16(near);
    match rounding {
        Rounding::NearestEven => nearest,
        Rounding::TowardZero => nearest - u16::from(f16_to_f32(nearest).abs() > near.abs()),
        _ => f32_to_f16_rounding(near, rounding),
    }
}

fn extend(value: u64, bits: u32, signed: bool) -> i128 {
    let shift = 64 - bits.clamp(1, 64);
    if signed {
        i128::from((value << shift) as i64 >> shift)
    } else {
        i128::from(value << shift >> shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_way_to_single_and_back() {
        for bits in 0..=u16::MAX {
            let nan = bits & 0x7fff > 0x7c00;
            let expected = if nan { 0x7e00 } else { bits };
            assert_eq!(f32_to_f16(f16_to_f32(bits)), expected, "{bits:#x}");
            assert_eq!(
                f64_to_f16(f64::from(f16_to_f32(bits))),
                expected,
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn halfway_between_two_halves_goes_to_the_even_one() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (f64::from(f16_to_f32(bits)), f64::from(f16_to_f32(bits + 1)));
            let middle = (low + high) / 2.0;
            let even = bits + (bits & 1);
            assert_eq!(f32_to_f16(middle as f32), even, "{bits:#x}");
            let (below, above) = (middle * (1.0 - 1e-12), middle * (1.0 + 1e-12));
            assert_eq!(f64_to_f16(below), bits, "{bits:#x}");
            assert_eq!(f64_to_f16(above), bits + 1, "{bits:#x}");
        }
        assert_eq!(f32_to_f16(65519.996), 0x7bff);
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_f16(-1e10), 0xfc00);
        assert_eq!(f32_to_f16(2f32.powi(-25)), 0);
        assert_eq!(f32_to_f16(2f32.powi(-25) * 1.0001), 1);
    }

    #[test]
    fn rounding_modes_bracket_the_value() {
        let value = 1.0 + 2f32.powi(-12);
        let of = |rounding| f32_to_f16_rounding(value, rounding);
        assert_eq!((of(Rounding::Down), of(Rounding::Up)), (0x3c00, 0x3c01));
        assert_eq!(
            (of(Rounding::TowardZero), of(Rounding::NearestEven)),
            (0x3c00, 0x3c00)
        );
        let of = |rounding| f32_to_f16_rounding(-value, rounding);
        assert_eq!((of(Rounding::Down), of(Rounding::Up)), (0xbc01, 0xbc00));
        assert_eq!(of(Rounding::TowardZero), 0xbc00);
        assert_eq!(f32_to_f16_rounding(1e6, Rounding::TowardZero), 0x7bff);
    }

    #[test]
    fn brain_floats_round_to_even_and_keep_denormals() {
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(f32_to_bf16(f32::from_bits(0x3f80_8001)), 0x3f81);
        assert_eq!(f32_to_bf16(f32::MAX), 0x7f80);
        assert_eq!(f32_to_bf16(f32::from_bits(0xff80_0001)), 0x7fc0);
        assert_eq!(f32_to_bf16(f32::from_bits(0x0001_0000)), 1);
    }

    #[test]
    fn floats_become_integers_saturating() {
        let cut = Rounding::TowardZero;
        assert_eq!(f32_to_int(f32::NAN, 32, true, cut), 0);
        assert_eq!(f32_to_int(1e20, 32, true, cut), 0x7fff_ffff);
        assert_eq!(f32_to_int(-1e20, 32, true, cut), 0x8000_0000);
        assert_eq!(f32_to_int(-1.5, 32, false, cut), 0);
        assert_eq!(f32_to_int(300.7, 8, false, cut), 255);
        assert_eq!(f32_to_int(-129.0, 8, true, cut), 0x80);
        assert_eq!(f32_to_int(2.5, 16, true, Rounding::NearestEven), 2);
        assert_eq!(f32_to_int(-2.5, 16, true, Rounding::Down), 0xfffd);
        assert_eq!(f32_to_int(f32::INFINITY, 64, false, cut), u64::MAX);
    }

    #[test]
    fn integers_become_floats_rounded_once() {
        let near = Rounding::NearestEven;
        assert_eq!(int_to_f32(0xffff_ffff, 32, true, near), -1.0);
        assert_eq!(int_to_f32(0xffff_ffff, 32, false, near), 4294967296.0);
        assert_eq!(
            int_to_f32(0xffff_ffff, 32, false, Rounding::TowardZero),
            4294967040.0
        );
        assert_eq!(
            int_to_f32(u64::MAX, 64, false, near),
            18446744073709551616.0
        );
        assert_eq!(int_to_f16(2049, 32, false, near), f32_to_f16(2048.0));
        assert_eq!(int_to_f16(65520, 32, false, near), 0x7c00);
        assert_eq!(int_to_f16(65520, 32, false, Rounding::TowardZero), 0x7bff);
    }

    #[test]
    fn conversions_of_at_most_32_bits_are_the_general_ones() {
        let mut patterns: Vec<u32> = (0..=u32::from(u16::MAX)).collect();
        patterns.extend((0..=u16::MAX).map(|high| u32::from(high) << 16 | 0x8000));
        patterns.extend((0..100_000u32).map(|n| n.wrapping_mul(2_654_435_761)));
        for shift in 0..32 {
            for near in [-1, 0, 1] {
                patterns.push((1u32 << shift).wrapping_add_signed(near));
                patterns.push((u32::MAX << shift).wrapping_add_signed(near));
            }
        }
        let modes = [
            Rounding::NearestEven,
            Rounding::TowardZero,
            Rounding::Up,
            Rounding::Down,
        ];
        for bits in [8, 16, 32] {
            for (signed, rounding) in [true, false]
                .into_iter()
                .flat_map(|s| modes.map(|m| (s, m)))
            {
                for &pattern in &patterns {
                    let wide = u64::from(pattern);
                    assert_eq!(
                        int32_to_f32(pattern, bits, signed, rounding).to_bits(),
                        int_to_f32(wide, bits, signed, rounding).to_bits(),
                        "{pattern:#x} {bits} {signed} {rounding:?}"
                    );
                    assert_eq!(
                        int32_to_f16(pattern, bits, signed, rounding),
                        int_to_f16(wide, bits, signed, rounding),
                        "{pattern:#x} {bits} {signed} {rounding:?}"
                    );
                    let value = f32::from_bits(pattern);
                    let mask = u64::MAX >> (64 - bits);
                    assert_eq!(
                        u64::from(f32_to_int32(value, bits, signed, rounding)) & mask,
                        f32_to_int(value, bits, signed, rounding),
                        "{value} {bits} {signed} {rounding:?}"
                    );
                }
            }
        }
        assert_eq!(f32_to_int32(-1.0, 8, true, Rounding::TowardZero), u32::MAX);
    }
}

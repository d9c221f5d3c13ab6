//! Conversions between float formats.

/// A half-precision number as a single; exact.
#[inline(always)]
pub const fn f16_to_f32(bits: u16) -> f32 {
    let sign = (bits as u32 & 0x8000) << 16;
    let magnitude = (bits & 0x7fff) as u32;
    // Denormals come out exact because the multiplication below is by a power of two and singles reach further down.
    let shifted = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
    let wide = if magnitude >= 0x7c00 {
        shifted.to_bits() | 0x7f80_0000
    } else {
        shifted.to_bits()
    };
    f32::from_bits(wide | sign)
}

/// A brain float as a single; exact.
#[inline(always)]
pub const fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// A single rounded to half precision, nearest even; NaN becomes the quiet NaN 0x7e00.
#[inline(always)]
pub const fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return 0x7e00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7c00;
    }
    let rounded = if magnitude < 0x3880_0000 {
        // Below the smallest normal half: adding 0.5 puts the half's last bit at the single's last bit.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000
    } else {
        let odd = magnitude >> 13 & 1;
        (magnitude - 0x3800_0000 + 0xfff + odd) >> 13
    };
    sign | rounded as u16
}

/// A single rounded to a brain float, nearest even; NaN becomes the quiet NaN 0x7fc0.
#[inline(always)]
pub const fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return 0x7fc0;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

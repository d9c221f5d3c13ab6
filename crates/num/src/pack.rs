//! Packed formats: normalised integers of 8, 10 and 16 bits, and sRGB.
//!
//! Packing clamps, scales and rounds to nearest even; NaN becomes 0. Unpacking divides by the largest integer.

use crate::math::precise;
use crate::single;

/// A number in [0, 1] as an unsigned integer of `bits` bits.
#[inline(always)]
pub fn to_unorm(value: f32, bits: u32) -> u32 {
    let scale = ((1u32 << bits) - 1) as f32;
    single::rint(single::mul(single::saturate(value), scale)) as u32
}

/// A number in [−1, 1] as a signed integer of `bits` bits, in the low bits.
#[inline(always)]
pub fn to_snorm(value: f32, bits: u32) -> u32 {
    let scale = ((1u32 << (bits - 1)) - 1) as f32;
    let value = if value.is_nan() {
        0.0
    } else {
        single::clamp(value, -1.0, 1.0)
    };
    single::rint(single::mul(value, scale)) as i32 as u32 & ((1u32 << bits) - 1)
}

/// An unsigned integer of `bits` bits as a number in [0, 1].
#[inline(always)]
pub fn from_unorm(bits_of: u32, bits: u32) -> f32 {
    let largest = (1u32 << bits) - 1;
    single::div((bits_of & largest) as f32, largest as f32)
}

/// A signed integer of `bits` bits as a number in [−1, 1]; the lowest is −1 as well.
#[inline(always)]
pub fn from_snorm(bits_of: u32, bits: u32) -> f32 {
    let value = (bits_of << (32 - bits)) as i32 >> (32 - bits);
    let largest = ((1u32 << (bits - 1)) - 1) as f32;
    single::max(single::div(value as f32, largest), -1.0)
}

/// Linear light to sRGB.
pub fn to_srgb(linear: f32) -> f32 {
    let linear = single::saturate(linear);
    if linear <= 0.0031308 {
        single::mul(linear, 12.92)
    } else {
        single::fma(precise::powr(linear, 1.0 / 2.4), 1.055, -0.055)
    }
}

/// sRGB to linear light.
pub fn from_srgb(coded: f32) -> f32 {
    if coded <= 0.04045 {
        single::div(coded, 12.92)
    } else {
        precise::powr(single::div(single::add(coded, 0.055), 1.055), 2.4)
    }
}

/// Four numbers as four unsigned bytes, the first lowest.
pub fn pack_unorm4x8(values: [f32; 4]) -> u32 {
    bytes(values.map(|value| to_unorm(value, 8)))
}

/// Four numbers as four signed bytes, the first lowest.
pub fn pack_snorm4x8(values: [f32; 4]) -> u32 {
    bytes(values.map(|value| to_snorm(value, 8)))
}

/// Three colours in sRGB and an alpha, as four unsigned bytes.
pub fn pack_unorm4x8_srgb([r, g, b, a]: [f32; 4]) -> u32 {
    pack_unorm4x8([to_srgb(r), to_srgb(g), to_srgb(b), a])
}

/// Two numbers as two unsigned halves of a word.
pub fn pack_unorm2x16([x, y]: [f32; 2]) -> u32 {
    to_unorm(x, 16) | to_unorm(y, 16) << 16
}

/// Two numbers as two signed halves of a word.
pub fn pack_snorm2x16([x, y]: [f32; 2]) -> u32 {
    to_snorm(x, 16) | to_snorm(y, 16) << 16
}

/// Three numbers in ten bits each and a fourth in two.
pub fn pack_unorm10a2([x, y, z, w]: [f32; 4]) -> u32 {
    to_unorm(x, 10) | to_unorm(y, 10) << 10 | to_unorm(z, 10) << 20 | to_unorm(w, 2) << 30
}

/// Three numbers in five, six and five bits, the last lowest.
pub fn pack_unorm565([r, g, b]: [f32; 3]) -> u16 {
    (to_unorm(r, 5) << 11 | to_unorm(g, 6) << 5 | to_unorm(b, 5)) as u16
}

/// Four numbers from four unsigned bytes.
pub fn unpack_unorm4x8(word: u32) -> [f32; 4] {
    word.to_le_bytes()
        .map(|byte| from_unorm(u32::from(byte), 8))
}

/// Four numbers from four signed bytes.
pub fn unpack_snorm4x8(word: u32) -> [f32; 4] {
    word.to_le_bytes()
        .map(|byte| from_snorm(u32::from(byte), 8))
}

/// Three linear colours and an alpha from four unsigned bytes in sRGB.
pub fn unpack_unorm4x8_srgb(word: u32) -> [f32; 4] {
    let [r, g, b, a] = unpack_unorm4x8(word);
    [from_srgb(r), from_srgb(g), from_srgb(b), a]
}

/// Two numbers from two unsigned halves.
pub fn unpack_unorm2x16(word: u32) -> [f32; 2] {
    [from_unorm(word & 0xffff, 16), from_unorm(word >> 16, 16)]
}

/// Two numbers from two signed halves.
pub fn unpack_snorm2x16(word: u32) -> [f32; 2] {
    [from_snorm(word & 0xffff, 16), from_snorm(word >> 16, 16)]
}

/// Four numbers from ten, ten, ten and two bits.
pub fn unpack_unorm10a2(word: u32) -> [f32; 4] {
    [
        from_unorm(word & 0x3ff, 10),
        from_unorm(word >> 10 & 0x3ff, 10),
        from_unorm(word >> 20 & 0x3ff, 10),
        from_unorm(word >> 30, 2),
    ]
}

/// Three numbers from five, six and five bits.
pub fn unpack_unorm565(word: u16) -> [f32; 3] {
    let word = u32::from(word);
    [
        from_unorm(word >> 11, 5),
        from_unorm(word >> 5 & 63, 6),
        from_unorm(word & 31, 5),
    ]
}

fn bytes(parts: [u32; 4]) -> u32 {
    parts[0] | parts[1] << 8 | parts[2] << 16 | parts[3] << 24
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_survives_unpacking_and_packing() {
        for value in 0..=0xffff {
            assert_eq!(to_unorm(from_unorm(value, 16), 16), value);
            if value != 0x8000 {
                assert_eq!(to_snorm(from_snorm(value, 16), 16), value);
            }
        }
        for value in 0..256u32 {
            assert_eq!(
                pack_unorm4x8_srgb(unpack_unorm4x8_srgb(value * 0x0101_0101)),
                value * 0x0101_0101
            );
        }
        assert_eq!(pack_unorm10a2(unpack_unorm10a2(0xdead_beef)), 0xdead_beef);
        assert_eq!(pack_unorm565(unpack_unorm565(0xbeef)), 0xbeef);
    }

    #[test]
    fn out_of_range_and_nan() {
        assert_eq!(pack_unorm4x8([-1.0, 2.0, f32::NAN, 0.5]), 0x8000_ff00);
        assert_eq!(pack_snorm2x16([-5.0, f32::NAN]), 0x8001);
        assert_eq!(from_snorm(0x80, 8), -1.0);
        assert_eq!(unpack_snorm4x8(0x7f81_0080), [-1.0, 0.0, -1.0, 1.0]);
    }
}

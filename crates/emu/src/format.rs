//! Memory formats: how elements of memory become register values and back.
//!
//! Integers and `f16` pass unchanged, zero-extended. Normalised and packed formats
//! become floats of the register's size. Loads were tested on hardware by applegpu's
//! authors; their rounding to half precision and all of the stores follow the formats'
//! usual definitions and are not confirmed.

use crate::arith::{f16_to_f32, f32_to_f16};
use assay_agx::Format;
use std::sync::OnceLock;

/// Bytes of one element in memory; 4 for packed formats.
pub(crate) fn element_bytes(format: Format) -> u64 {
    if format.is_packed() {
        return 4;
    }
    u64::from(format.element_bytes().unwrap_or(1))
}

/// How many registers a packed format fills.
pub(crate) fn packed_components(format: Format) -> u32 {
    if format == Format::Rgb10A2 { 4 } else { 3 }
}

/// Whether register values are floats that have to be converted.
pub(crate) fn converts(format: Format) -> bool {
    !matches!(format, Format::I8 | Format::I16 | Format::I32 | Format::F16)
}

/// The register value of one element of an unpacked format; `component` 3 is alpha.
pub(crate) fn load(format: Format, raw: u32, component: u32, wide: bool) -> u32 {
    let value = match format {
        Format::U8Norm => raw as f32 / 255.0,
        Format::S8Norm => f32::from((raw as u8 as i8).max(-127)) / 127.0,
        Format::U16Norm => raw as f32 / 65535.0,
        Format::S16Norm => f32::from((raw as u16 as i16).max(-32767)) / 32767.0,
        Format::Srgba8 if component == 3 => raw as f32 / 255.0,
        Format::Srgba8 => srgb_to_linear(raw as u8),
        _ => return raw,
    };
    to_register(value, wide)
}

/// The register value of one component of a packed word.
pub(crate) fn load_packed(format: Format, word: u32, component: u32, wide: bool) -> u32 {
    let field = |from: u32, bits: u32| word >> from & ((1 << bits) - 1);
    let value = match (format, component) {
        (Format::Rgb10A2, 3) => field(30, 2) as f32 / 3.0,
        (Format::Rgb10A2, n) => field(n * 10, 10) as f32 / 1023.0,
        (Format::Rgb9E5 | Format::Rgb9E5Rtz, n) => {
            field(n * 9, 9) as f32 * power_of_two(field(27, 5) as i32 - 24)
        }
        (_, 2) => small_float(field(22, 10), 5),
        (_, n) => small_float(field(n * 11, 11), 6),
    };
    to_register(value, wide)
}

/// The element of an unpacked format for a register value.
pub(crate) fn store(format: Format, register: u32, component: u32, wide: bool) -> u32 {
    let scaled = |limit: f32| {
        let value = from_register(register, wide);
        (value.clamp(0.0, 1.0) * limit).round_ties_even() as u32
    };
    let signed = |limit: f32| {
        let value = from_register(register, wide);
        (value.clamp(-1.0, 1.0) * limit).round_ties_even() as i32 as u32
    };
    match format {
        Format::U8Norm => scaled(255.0),
        Format::S8Norm => signed(127.0),
        Format::U16Norm => scaled(65535.0),
        Format::S16Norm => signed(32767.0),
        Format::Srgba8 if component == 3 => scaled(255.0),
        Format::Srgba8 => linear_to_srgb(from_register(register, wide)),
        _ => register,
    }
}

/// The packed word of up to four register values.
pub(crate) fn store_packed(format: Format, registers: [u32; 4], wide: bool) -> u32 {
    let [x, y, z, w] = registers.map(|register| from_register(register, wide));
    let truncates = matches!(format, Format::Rg11B10FRtz | Format::Rgb9E5Rtz);
    match format {
        Format::Rgb10A2 => {
            let part =
                |value: f32, limit: f32| (value.clamp(0.0, 1.0) * limit).round_ties_even() as u32;
            part(x, 1023.0) | part(y, 1023.0) << 10 | part(z, 1023.0) << 20 | part(w, 3.0) << 30
        }
        Format::Rgb9E5 | Format::Rgb9E5Rtz => shared_exponent([x, y, z], truncates),
        _ => {
            to_small_float(x, 6, truncates)
                | to_small_float(y, 6, truncates) << 11
                | to_small_float(z, 5, truncates) << 22
        }
    }
}

fn to_register(value: f32, wide: bool) -> u32 {
    if wide {
        value.to_bits()
    } else {
        u32::from(f32_to_f16(value))
    }
}

fn from_register(register: u32, wide: bool) -> f32 {
    if wide {
        f32::from_bits(register)
    } else {
        f16_to_f32(register as u16)
    }
}

/// 2^exponent, for exponents a single can hold.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// An unsigned float with 5 bits of exponent and `fraction_bits` of fraction: a half
/// without sign and with fewer bits.
fn small_float(bits: u32, fraction_bits: u32) -> f32 {
    f16_to_f32((bits << (10 - fraction_bits)) as u16)
}

fn to_small_float(value: f32, fraction_bits: u32, truncates: bool) -> u32 {
    let dropped = 10 - fraction_bits;
    if value.is_nan() {
        return 0x1f << fraction_bits | 1;
    }
    // Through half precision towards zero, keeping whether anything was lost.
    let positive = value.max(0.0);
    let mut half = u32::from(f32_to_f16(positive));
    let exact = f16_to_f32(half as u16);
    if exact > positive {
        half -= 1;
    }
    let lost = f16_to_f32(half as u16) != positive;
    let kept = half >> dropped;
    let rest = half & ((1 << dropped) - 1);
    let middle = 1 << (dropped - 1);
    let up = rest > middle || rest == middle && (lost || kept & 1 != 0);
    kept + u32::from(up && !truncates && positive.is_finite())
}

/// Nine bits of fraction each and one common exponent.
fn shared_exponent(values: [f32; 3], truncates: bool) -> u32 {
    const LARGEST: f32 = 65408.0;
    let clamped = values.map(|value| if value > 0.0 { value.min(LARGEST) } else { 0.0 });
    let largest = clamped[0].max(clamped[1]).max(clamped[2]);
    let round = |value: f32| match truncates {
        true => value as u32,
        false => (value + 0.5) as u32,
    };
    let exponent_of = |value: f32| (value.to_bits() >> 23) as i32 - 127;
    let mut exponent = (exponent_of(largest).max(-16) + 16).clamp(0, 31);
    if round(largest * power_of_two(24 - exponent)) == 512 {
        exponent += 1;
    }
    let scale = power_of_two(24 - exponent);
    let [x, y, z] = clamped.map(|value| round(value * scale).min(511));
    x | y << 9 | z << 18 | (exponent as u32) << 27
}

/// The hardware's table: the exact function, rounded to twelve bits.
fn srgb_to_linear(value: u8) -> f32 {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table = [0.0; 256];
        for (index, entry) in table.iter_mut().enumerate() {
            let encoded = index as f64 / 255.0;
            let linear = if encoded <= 0.04045 {
                encoded / 12.92
            } else {
                ((encoded + 0.055) / 1.055).powf(2.4)
            };
            *entry = ((linear * 4095.0).round() / 4095.0) as f32;
        }
        table
    });
    table[usize::from(value)]
}

fn linear_to_srgb(value: f32) -> u32 {
    let linear = f64::from(value.clamp(0.0, 1.0));
    let encoded = if linear <= 0.0031308 {
        linear * 12.92
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    };
    (encoded * 255.0).round_ties_even() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalised_values_have_the_ends_of_their_range() {
        let f = |format, raw| f32::from_bits(load(format, raw, 0, true));
        assert_eq!(f(Format::U8Norm, 255), 1.0);
        assert_eq!(f(Format::S8Norm, 0x80), -1.0);
        assert_eq!(f(Format::S8Norm, 0x81), -1.0);
        assert_eq!(f(Format::S16Norm, 0x8000), -1.0);
        assert_eq!(load(Format::U16Norm, 65535, 0, false), 0x3c00);
        assert_eq!(f(Format::Srgba8, 3), 4.0 / 4095.0);
    }

    #[test]
    fn every_packed_value_survives_a_round_trip() {
        for format in [Format::Rg11B10F, Format::Rg11B10FRtz, Format::Rgb10A2] {
            for word in (0..=u32::MAX).step_by(65_537 * 97) {
                let registers = [0, 1, 2, 3].map(|n| match n < packed_components(format) {
                    true => load_packed(format, word, n, true),
                    false => 0,
                });
                let nan = registers.iter().any(|r| f32::from_bits(*r).is_nan());
                if !nan {
                    assert_eq!(store_packed(format, registers, true), word, "{format:?}");
                }
            }
        }
    }

    #[test]
    fn shared_exponents_pick_the_largest_component() {
        let word = store_packed(
            Format::Rgb9E5,
            [1.0f32, 0.5, 0.25, 0.0].map(f32::to_bits),
            true,
        );
        let back = [0, 1, 2].map(|n| f32::from_bits(load_packed(Format::Rgb9E5, word, n, true)));
        assert_eq!(back, [1.0, 0.5, 0.25]);
    }
}

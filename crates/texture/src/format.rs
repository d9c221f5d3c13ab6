//! Pixel formats: what the bits of a texel mean.
//!
//! One table. A row has Metal's name of the format (`rgba8Unorm` is `MTLPixelFormatRGBA8Unorm`), its bytes, how its channels are
//! coded, and for each channel which component it is, its first bit and its bits. Compressed formats are not here: nothing
//! writes them from a kernel.

use crate::small_float;
use assay_num::{f16_to_f32, f32_to_f16, pack};

/// What the components of a texel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Floats, also those kept as normalised integers.
    Float,
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
}

impl Class {
    /// What kernels call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float => "float or half",
            Self::Signed => "int or short",
            Self::Unsigned => "uint or ushort",
        }
    }
}

/// How channels are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Unorm,
    Snorm,
    /// Normalised; red, green and blue on the curve of sRGB.
    Srgb,
    Uint,
    Sint,
    Float,
    /// Floats without sign, of five exponent bits.
    SmallFloat,
    /// Three mantissas, one exponent.
    SharedExponent,
}

/// A part of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Channel {
    /// 0 is red, 3 is alpha.
    component: u8,
    shift: u8,
    bits: u8,
}

/// A pixel format.
#[derive(Debug, PartialEq, Eq)]
pub struct Format {
    /// Metal's name, without `MTLPixelFormat`.
    pub name: &'static str,
    /// Bytes of a texel.
    pub bytes: u32,
    coding: Coding,
    channels: &'static [Channel],
}

macro_rules! formats {
    ($($name:literal $bytes:literal $coding:ident $([$component:literal $shift:literal $bits:literal])*;)*) => {
        static TABLE: &[Format] = &[$(Format {
            name: $name,
            bytes: $bytes,
            coding: Coding::$coding,
            channels: &[$(Channel { component: $component, shift: $shift, bits: $bits }),*],
        }),*];
    };
}

formats! {
    "a8Unorm" 1 Unorm [3 0 8];
    "r8Unorm" 1 Unorm [0 0 8];
    "r8Unorm_sRGB" 1 Srgb [0 0 8];
    "r8Snorm" 1 Snorm [0 0 8];
    "r8Uint" 1 Uint [0 0 8];
    "r8Sint" 1 Sint [0 0 8];
    "stencil8" 1 Uint [0 0 8];
    "r16Unorm" 2 Unorm [0 0 16];
    "r16Snorm" 2 Snorm [0 0 16];
    "r16Uint" 2 Uint [0 0 16];
    "r16Sint" 2 Sint [0 0 16];
    "r16Float" 2 Float [0 0 16];
    "depth16Unorm" 2 Unorm [0 0 16];
    "rg8Unorm" 2 Unorm [0 0 8] [1 8 8];
    "rg8Unorm_sRGB" 2 Srgb [0 0 8] [1 8 8];
    "rg8Snorm" 2 Snorm [0 0 8] [1 8 8];
    "rg8Uint" 2 Uint [0 0 8] [1 8 8];
    "rg8Sint" 2 Sint [0 0 8] [1 8 8];
    "b5g6r5Unorm" 2 Unorm [2 0 5] [1 5 6] [0 11 5];
    "a1bgr5Unorm" 2 Unorm [3 0 1] [2 1 5] [1 6 5] [0 11 5];
    "abgr4Unorm" 2 Unorm [3 0 4] [2 4 4] [1 8 4] [0 12 4];
    "bgr5A1Unorm" 2 Unorm [2 0 5] [1 5 5] [0 10 5] [3 15 1];
    "r32Uint" 4 Uint [0 0 32];
    "r32Sint" 4 Sint [0 0 32];
    "r32Float" 4 Float [0 0 32];
    "depth32Float" 4 Float [0 0 32];
    "rg16Unorm" 4 Unorm [0 0 16] [1 16 16];
    "rg16Snorm" 4 Snorm [0 0 16] [1 16 16];
    "rg16Uint" 4 Uint [0 0 16] [1 16 16];
    "rg16Sint" 4 Sint [0 0 16] [1 16 16];
    "rg16Float" 4 Float [0 0 16] [1 16 16];
    "rgba8Unorm" 4 Unorm [0 0 8] [1 8 8] [2 16 8] [3 24 8];
    "rgba8Unorm_sRGB" 4 Srgb [0 0 8] [1 8 8] [2 16 8] [3 24 8];
    "rgba8Snorm" 4 Snorm [0 0 8] [1 8 8] [2 16 8] [3 24 8];
    "rgba8Uint" 4 Uint [0 0 8] [1 8 8] [2 16 8] [3 24 8];
    "rgba8Sint" 4 Sint [0 0 8] [1 8 8] [2 16 8] [3 24 8];
    "bgra8Unorm" 4 Unorm [2 0 8] [1 8 8] [0 16 8] [3 24 8];
    "bgra8Unorm_sRGB" 4 Srgb [2 0 8] [1 8 8] [0 16 8] [3 24 8];
    "rgb10a2Unorm" 4 Unorm [0 0 10] [1 10 10] [2 20 10] [3 30 2];
    "rgb10a2Uint" 4 Uint [0 0 10] [1 10 10] [2 20 10] [3 30 2];
    "bgr10a2Unorm" 4 Unorm [2 0 10] [1 10 10] [0 20 10] [3 30 2];
    "rg11b10Float" 4 SmallFloat [0 0 11] [1 11 11] [2 22 10];
    "rgb9e5Float" 4 SharedExponent [0 0 9] [1 9 9] [2 18 9];
    "rg32Uint" 8 Uint [0 0 32] [1 32 32];
    "rg32Sint" 8 Sint [0 0 32] [1 32 32];
    "rg32Float" 8 Float [0 0 32] [1 32 32];
    "rgba16Unorm" 8 Unorm [0 0 16] [1 16 16] [2 32 16] [3 48 16];
    "rgba16Snorm" 8 Snorm [0 0 16] [1 16 16] [2 32 16] [3 48 16];
    "rgba16Uint" 8 Uint [0 0 16] [1 16 16] [2 32 16] [3 48 16];
    "rgba16Sint" 8 Sint [0 0 16] [1 16 16] [2 32 16] [3 48 16];
    "rgba16Float" 8 Float [0 0 16] [1 16 16] [2 32 16] [3 48 16];
    "rgba32Uint" 16 Uint [0 0 32] [1 32 32] [2 64 32] [3 96 32];
    "rgba32Sint" 16 Sint [0 0 32] [1 32 32] [2 64 32] [3 96 32];
    "rgba32Float" 16 Float [0 0 32] [1 32 32] [2 64 32] [3 96 32];
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Format] = TABLE;

    /// The format of a name, in whatever case, with or without `MTLPixelFormat` before it.
    pub fn named(name: &str) -> Option<&'static Format> {
        let bare = name.strip_prefix("MTLPixelFormat").unwrap_or(name);
        let mut all = TABLE.iter();
        all.find(|format| format.name.eq_ignore_ascii_case(bare))
    }

    /// The format nearest to a wrong name, for messages.
    pub fn nearest(name: &str) -> &'static str {
        let shared = |format: &&Format| {
            let pairs = format.name.bytes().zip(name.bytes());
            pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
        };
        // The last of equals is what `max_by_key` finds; the short names come first.
        let best = TABLE.iter().rev().max_by_key(shared);
        best.map_or("rgba8Unorm", |format| format.name)
    }

    /// What components are.
    pub fn class(&self) -> Class {
        match self.coding {
            Coding::Uint => Class::Unsigned,
            Coding::Sint => Class::Signed,
            _ => Class::Float,
        }
    }

    /// Components that are kept.
    pub fn channels(&self) -> usize {
        self.channels.len()
    }

    /// Returns true if there is an alpha component.
    pub fn has_alpha(&self) -> bool {
        self.channels.iter().any(|channel| channel.component == 3)
    }

    /// Returns true if a depth texture may have it.
    pub fn is_depth(&self) -> bool {
        self.name.starts_with("depth")
    }

    /// Bytes of each channel, if all are whole numbers of bytes in the order red, green, blue, alpha: what an array can hold.
    pub fn plain_channel(&self) -> Option<(u32, PlainChannel)> {
        let bits = self.channels.first()?.bits;
        let in_order = (0u8..).zip(self.channels).all(|(at, channel)| {
            let alone = self.channels.len() == 1;
            (channel.component == at || alone) && channel.bits == bits && channel.shift == at * bits
        });
        let kind = match self.coding {
            Coding::Unorm | Coding::Srgb | Coding::Uint => PlainChannel::Unsigned,
            Coding::Snorm | Coding::Sint => PlainChannel::Signed,
            Coding::Float => PlainChannel::Float,
            Coding::SmallFloat | Coding::SharedExponent => return None,
        };
        (in_order && bits % 8 == 0).then_some((u32::from(bits) / 8, kind))
    }

    /// Returns true if colours are on the curve of sRGB.
    pub fn is_srgb(&self) -> bool {
        self.coding == Coding::Srgb
    }

    /// Returns true if channels are normalised integers.
    pub fn is_normalised(&self) -> bool {
        matches!(self.coding, Coding::Unorm | Coding::Snorm | Coding::Srgb)
    }

    /// One, as a component: what alpha is in a format without.
    fn one(&self) -> u32 {
        match self.class() {
            Class::Float => 1f32.to_bits(),
            _ => 1,
        }
    }

    /// The four components of a texel: bits of single-precision floats, or 32-bit integers. Those that are not kept are 0, alpha 1.
    pub fn decode(&self, texel: u128) -> [u32; 4] {
        let mut values = [0, 0, 0, self.one()];
        if self.coding == Coding::SharedExponent {
            let [r, g, b] = small_float::decode_shared(texel as u32).map(f32::to_bits);
            return [r, g, b, values[3]];
        }
        for channel in self.channels {
            let bits = u32::from(channel.bits);
            let mask = ((1u64 << bits) - 1) as u32;
            let field = (texel >> channel.shift) as u32 & mask;
            let value = match self.coding {
                Coding::Unorm => pack::from_unorm(field, bits).to_bits(),
                Coding::Srgb if channel.component == 3 => pack::from_unorm(field, bits).to_bits(),
                Coding::Srgb => pack::from_srgb(pack::from_unorm(field, bits)).to_bits(),
                Coding::Snorm => pack::from_snorm(field, bits).to_bits(),
                Coding::Float if bits == 16 => f16_to_f32(field as u16).to_bits(),
                Coding::SmallFloat => small_float::decode(field, bits - 5).to_bits(),
                Coding::Sint => ((field << (32 - bits)) as i32 >> (32 - bits)) as u32,
                Coding::Uint | Coding::Float | Coding::SharedExponent => field,
            };
            values[usize::from(channel.component & 3)] = value;
        }
        values
    }

    /// A texel of four components. Normalised numbers are clamped and rounded to nearest, integers clamped to what fits.
    pub fn encode(&self, values: [u32; 4]) -> u128 {
        let float = |component: u8| f32::from_bits(values[usize::from(component & 3)]);
        if self.coding == Coding::SharedExponent {
            return small_float::encode_shared([0, 1, 2].map(float)).into();
        }
        let mut texel = 0u128;
        for channel in self.channels {
            let bits = u32::from(channel.bits);
            let value = values[usize::from(channel.component & 3)];
            let number = float(channel.component);
            let largest = ((1u64 << bits) - 1) as u32;
            let field = match self.coding {
                Coding::Unorm => pack::to_unorm(number, bits),
                Coding::Srgb if channel.component == 3 => pack::to_unorm(number, bits),
                Coding::Srgb => pack::to_unorm(pack::to_srgb(number), bits),
                Coding::Snorm => pack::to_snorm(number, bits),
                Coding::Float if bits == 16 => f32_to_f16(number).into(),
                Coding::SmallFloat => small_float::encode(number, bits - 5),
                Coding::Uint => value.min(largest),
                Coding::Sint => {
                    let most = (largest >> 1) as i32;
                    (value as i32).clamp(-most - 1, most) as u32 & largest
                }
                Coding::Float | Coding::SharedExponent => value,
            };
            texel |= u128::from(field) << channel.shift;
        }
        texel
    }
}

/// What a channel of whole bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainChannel {
    /// An integer, or a normalised one.
    Unsigned,
    /// The same with a sign.
    Signed,
    /// A float.
    Float,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texels of a format: all of the small ones, some of the others.
    fn texels(format: &Format) -> impl Iterator<Item = u128> + use<> {
        let bits = format.bytes * 8;
        let step = if bits <= 16 {
            1
        } else {
            (u128::MAX >> (128 - bits)) / 65_521 + 1
        };
        (0..(1u128 << bits.min(16)))
            .map(move |n| n.wrapping_mul(step) & (u128::MAX >> (128 - bits)))
    }

    #[test]
    fn what_is_read_and_written_again_is_the_same() {
        for format in Format::ALL {
            for texel in texels(format) {
                let again = format.encode(format.decode(texel));
                let same = format.decode(again) == format.decode(texel);
                let nan = |bits: u32| f32::from_bits(bits).is_nan();
                let nans = format.decode(texel).into_iter().any(nan);
                assert!(same || nans, "{} {texel:x} {again:x}", format.name);
            }
        }
    }

    #[test]
    fn stores_clamp_and_round_to_nearest_even() {
        let store = |name: &str, value: f32| {
            Format::named(name).unwrap().encode([value.to_bits(); 4]) as u8
        };
        assert_eq!(store("r8Unorm", 2.0), 255);
        assert_eq!(store("r8Unorm", -1.0), 0);
        assert_eq!(store("r8Unorm", f32::NAN), 0);
        assert_eq!(store("r8Unorm", 0.5), 128);
        assert_eq!(store("r8Snorm", -2.0), 0x81);
        assert_eq!(store("r8Unorm_sRGB", 0.5), 188);
        let uint = Format::named("r8Uint").unwrap();
        assert_eq!(uint.encode([300, 0, 0, 0]), 255);
        let sint = Format::named("MTLPixelFormatRGBA8Sint").unwrap();
        assert_eq!(sint.encode([-300i32 as u32, 5, 300, 0]), 0x007f_0580);
        assert_eq!(sint.decode(0x007f_0580), [-128i32 as u32, 5, 127, 0]);
    }

    #[test]
    fn missing_components_are_zero_and_alpha_one() {
        let red = Format::named("r8Uint").unwrap();
        assert_eq!(red.decode(7), [7, 0, 0, 1]);
        let alpha = Format::named("a8Unorm").unwrap();
        assert_eq!(alpha.decode(255).map(f32::from_bits), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(Format::nearest("rgba8"), "rgba8Unorm");
    }
}

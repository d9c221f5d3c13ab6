//! Random numbers for buffers, as different trials want them.

use super::inputs::{Field, TRIALS};
use assay_ssa::Scalar;

/// What all sizes are in the trials after the first.
pub(super) const SIDES: [u64; 6] = [2, 4, 8, 16, 64, 128];

/// The scalar that a type's name says, for instance `float4` or `atomic_uint`.
pub(super) fn scalar_named(name: &str) -> Option<Scalar> {
    let name = name.trim_start_matches("packed_");
    let name = name
        .trim_start_matches("atomic_")
        .trim_start_matches("metal::");
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some(match base {
        "float" => Scalar::F32,
        "half" => Scalar::F16,
        "bfloat" | "bfloat16_t" => Scalar::BF16,
        "uint" | "int" | "uint32_t" => Scalar::I32,
        "ushort" | "short" => Scalar::I16,
        "uchar" | "char" | "bool" => Scalar::I8,
        "ulong" | "long" => Scalar::I64,
        _ => return None,
    })
}

/// What integers in scalars and structs look like.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sizes {
    Odd,
    Tiny,
    /// Multiples of a tile: matrices would overlap and packed rows be misaligned otherwise.
    Tiles,
    /// This number, which tiles divide.
    Sides(u64),
}

impl Sizes {
    pub(super) fn of(trial: usize) -> Sizes {
        match trial {
            0 => Sizes::Odd,
            1 => Sizes::Tiny,
            2 => Sizes::Tiles,
            _ => Sizes::Sides(SIDES.get(trial - TRIALS).copied().unwrap_or(4)),
        }
    }
}

/// A scalar or struct: each number read from it gets a small value.
pub(super) fn block(size: usize, fields: &[Field], sizes: Sizes, random: &mut Random) -> Vec<u8> {
    let mut bytes = vec![0; size.min(1 << 20)];
    let mut fields: Vec<Field> = fields.to_vec();
    fields.sort_by_key(|field| field.offset);
    fields.dedup_by_key(|field| field.offset);
    for field in fields {
        let width = field.scalar.bytes() as usize;
        for lane in 0..field.lanes {
            let value = match field.scalar.is_float() {
                true => float(field.scalar, random, 0),
                // Strides, often in bytes: vectors must stay aligned.
                false if field.scalar == Scalar::I64 => match sizes {
                    Sizes::Tiny => 16 * random.below(3),
                    _ => 16 + 16 * random.below(2),
                },
                false => match sizes {
                    Sizes::Odd => 7 + random.below(18),
                    Sizes::Tiny => 1 + random.below(4),
                    Sizes::Tiles => 16 + 16 * random.below(2),
                    Sizes::Sides(side) => side,
                },
            };
            put(&mut bytes, field.offset + lane * width, width, value);
        }
    }
    bytes
}

/// An array: floats around zero, or integers that may serve as indices.
pub(super) fn array(bytes: usize, scalar: Scalar, trial: usize, mut random: Random) -> Vec<u8> {
    let mut data = vec![0; bytes];
    let width = scalar.bytes() as usize;
    for at in (0..bytes).step_by(width) {
        let value = match (scalar.is_float(), trial) {
            (true, _) => float(scalar, &mut random, trial),
            (false, 0) => random.below(8),
            (false, 1) => 1 + random.below(3),
            (false, 2) => random.next(),
            (false, _) => random.below(16),
        };
        put(&mut data, at, width, value);
    }
    data
}

fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) {
    if let Some(place) = bytes.get_mut(at..at + width) {
        place.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

const ODD_FLOATS: [u32; 8] = [
    0x0000_0000,
    0x8000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0000_0001,
    0x7f7f_ffff,
    0x4b80_0001,
];

fn float(scalar: Scalar, random: &mut Random, trial: usize) -> u64 {
    let mut value = (random.below(1 << 16) as f32 / 8192.0 - 4.0) * 0.5;
    if trial == 2 && random.below(32) == 0 {
        value = f32::from_bits(ODD_FLOATS[random.below(8) as usize]);
    }
    match scalar {
        Scalar::F16 => u64::from(assay_num::f32_to_f16(value)),
        Scalar::BF16 => u64::from(assay_num::f32_to_bf16(value)),
        _ => u64::from(value.to_bits()),
    }
}

/// A small generator: the same numbers on every machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 24) % limit
    }
}

//! Element types of arguments, and their bytes.

use half::{bf16, f16};
use serde::Deserialize;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// Single precision.
    F32,
    /// Half precision.
    F16,
    /// Brain float.
    Bf16,
    /// Unsigned 32-bit integers.
    U32,
    /// Signed 32-bit integers.
    I32,
}

impl Dtype {
    /// All of them.
    pub const ALL: [Dtype; 5] = [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::U32, Dtype::I32];

    /// The type of a name.
    pub fn named(name: &str) -> Option<Dtype> {
        Dtype::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The name in registry files and behind function names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::U32 => "u32",
            Self::I32 => "i32",
        }
    }

    /// Bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::F32 | Self::U32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// Whether elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// The nearest number of this type. Integers saturate.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::F32 => f64::from(value as f32),
            Self::F16 => f16::from_f64(value).to_f64(),
            Self::Bf16 => bf16::from_f64(value).to_f64(),
            Self::U32 => f64::from(value as u32),
            Self::I32 => f64::from(value as i32),
        }
    }

    /// The bytes of numbers, each rounded to the nearest of this type.
    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(values.len().saturating_mul(self.size()));
        for &value in values {
            match self {
                Self::F32 => bytes.extend((value as f32).to_le_bytes()),
                Self::F16 => bytes.extend(f16::from_f64(value).to_le_bytes()),
                Self::Bf16 => bytes.extend(bf16::from_f64(value).to_le_bytes()),
                Self::U32 => bytes.extend((value as u32).to_le_bytes()),
                Self::I32 => bytes.extend((value as i32).to_le_bytes()),
            }
        }
        bytes
    }

    /// The numbers that bytes stand for. Bytes beyond the last whole element are left out.
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        let four = |f: fn([u8; 4]) -> f64| bytes.as_chunks().0.iter().map(|c| f(*c)).collect();
        let two = |f: fn([u8; 2]) -> f64| bytes.as_chunks().0.iter().map(|c| f(*c)).collect();
        match self {
            Self::F32 => four(|c| f64::from(f32::from_le_bytes(c))),
            Self::U32 => four(|c| f64::from(u32::from_le_bytes(c))),
            Self::I32 => four(|c| f64::from(i32::from_le_bytes(c))),
            Self::F16 => two(|c| f16::from_le_bytes(c).to_f64()),
            Self::Bf16 => two(|c| bf16::from_le_bytes(c).to_f64()),
        }
    }

    /// How far apart two numbers are, counted in numbers of this type between them; `None` when one is NaN or the type
    /// has no such count.
    ///
    /// ```
    /// use assay_launch::Dtype;
    /// assert_eq!(Dtype::F32.ulps(1.0, 1.0 + f64::from(f32::EPSILON)), Some(1));
    /// assert_eq!(Dtype::F32.ulps(-0.0, 0.0), Some(0));
    /// assert_eq!(Dtype::F16.ulps(1.0, 1.0009765625), Some(1));
    /// assert_eq!(Dtype::F32.ulps(f64::NAN, 0.0), None);
    /// ```
    pub fn ulps(self, a: f64, b: f64) -> Option<u64> {
        if a.is_nan() || b.is_nan() {
            return None;
        }
        // Sign and magnitude to a number line on which neighbours differ by one.
        let place = |value: f64| -> Option<i64> {
            let (bits, sign) = match self {
                Self::F32 => ((value as f32).to_bits(), 1 << 31),
                Self::F16 => (u32::from(f16::from_f64(value).to_bits()), 1 << 15),
                Self::Bf16 => (u32::from(bf16::from_f64(value).to_bits()), 1 << 15),
                Self::U32 | Self::I32 => return Some(value as i64),
            };
            let magnitude = i64::from(bits & (sign - 1));
            Some(if bits & sign == 0 {
                magnitude
            } else {
                -magnitude
            })
        };
        Some(place(a)?.abs_diff(place(b)?))
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_the_rounded_numbers() {
        let values = [0.0, 1.0, -2.5, 1e-3, 2.0 / 3.0];
        for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16] {
            let bytes = dtype.encode(&values);
            assert_eq!(bytes.len(), values.len() * dtype.size());
            let rounded: Vec<f64> = values.iter().map(|&v| dtype.round(v)).collect();
            assert_eq!(dtype.decode(&bytes), rounded);
        }
        assert_eq!(
            Dtype::U32.decode(&Dtype::U32.encode(&[7.0, -1.0])),
            [7.0, 0.0]
        );
        assert_eq!(Dtype::F32.decode(&[0, 0, 128, 63, 9]), [1.0]);
    }
}

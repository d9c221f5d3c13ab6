//! What buffers of measured programs held: bytes where they decide what a kernel does, otherwise a rule, whose seed is the
//! buffer's number.

use assay_launch::Start;
use assay_launch::fill::Fill;

/// Zeros.
pub const ZEROS: Start = Start::Fill(Fill::Zero);

/// Floats of a standard normal distribution.
pub const NORMAL: Start = Start::Fill(Fill::Normal32 { seed: 0 });

/// Floats between two bounds.
pub const fn uniform(low: f32, high: f32) -> Start {
    Start::Fill(Fill::Uniform32 { seed: 0, low, high })
}

/// These floats.
pub fn floats(values: impl IntoIterator<Item = f32>) -> Start {
    Start::Bytes(values.into_iter().flat_map(f32::to_le_bytes).collect())
}

/// A word that depends on nothing but a seed and an index.
pub fn hash(seed: u64, index: u64) -> u64 {
    assay_launch::fill::mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), index)
}

/// A number in `0..1`.
pub fn unit(seed: u64, index: u64) -> f64 {
    (hash(seed, index) >> 11) as f64 / (1u64 << 53) as f64
}

//! Contents of buffers: exact bytes where they decide what a kernel does, otherwise a
//! distribution whose elements can be made one at a time.

/// What a buffer holds.
#[derive(Clone, Debug)]
pub enum Contents {
    /// Zeros.
    Zeros,
    /// Floats of a standard normal distribution.
    Normal,
    /// Floats between two bounds.
    Uniform(f32, f32),
    /// These bytes.
    Exact(Vec<u8>),
}

impl Contents {
    /// Floats as bytes.
    pub fn floats(values: impl IntoIterator<Item = f32>) -> Contents {
        Contents::Exact(values.into_iter().flat_map(f32::to_le_bytes).collect())
    }
}

/// A word that depends on nothing but a seed and an index (SplitMix64).
pub fn hash(seed: u64, index: u64) -> u64 {
    let mut word = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A number in `0..1`.
pub fn unit(seed: u64, index: u64) -> f64 {
    (hash(seed, index) >> 11) as f64 / (1u64 << 53) as f64
}

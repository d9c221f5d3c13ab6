//! Contents made from a seed, for buffers whose values nobody stated.
//!
//! Every word is a function of the seed and its index, so contents depend neither on
//! the order of accesses nor on the number of threads. Floats are positive and at most
//! one: sums stay finite, reciprocals and logarithms have values.

/// What an untouched buffer holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// Single-precision numbers from 2^-10 to 1.
    Float32 {
        /// Picks the numbers.
        seed: u64,
    },
    /// Single-precision numbers, evenly from `low` to `high`.
    Uniform32 {
        /// Picks the numbers.
        seed: u64,
        /// The least.
        low: f32,
        /// The most.
        high: f32,
    },
    /// Single-precision numbers around 0 with deviation 1, none beyond 3.5: sums of four
    /// even numbers.
    Normal32 {
        /// Picks the numbers.
        seed: u64,
    },
    /// Half-precision numbers from 2^-10 to 1.
    Float16 {
        /// Picks the numbers.
        seed: u64,
    },
    /// Brain floats from 2^-8 to 1.
    BFloat16 {
        /// Picks the numbers.
        seed: u64,
    },
    /// Integers of 1, 2 or 4 bytes, below `bound`.
    Index {
        /// Picks the numbers.
        seed: u64,
        /// All numbers are less; 0 acts like 1.
        bound: u32,
        /// Bytes of a number: 1, 2 or 4.
        bytes: u8,
    },
}

impl Fill {
    /// The `n`th word.
    pub fn word(self, n: u64) -> u32 {
        match self {
            Fill::Zero => 0,
            Fill::Float32 { seed } => float32(mix(seed, n)),
            Fill::Uniform32 { seed, low, high } => {
                let share = (mix(seed, n) >> 40) as f32 / (1u32 << 24) as f32;
                (low + share * (high - low)).to_bits()
            }
            Fill::Normal32 { seed } => normal(mix(seed, n)),
            Fill::Float16 { seed } => {
                let random = mix(seed, n);
                half(random as u16) | half((random >> 16) as u16) << 16
            }
            Fill::BFloat16 { seed } => {
                let random = mix(seed, n);
                brain(random as u16) | brain((random >> 16) as u16) << 16
            }
            Fill::Index { seed, bound, bytes } => indices(mix(seed, n), bound, bytes),
        }
    }
}

/// A well-mixed function of seed and index (the finaliser of SplitMix64).
fn mix(seed: u64, n: u64) -> u64 {
    let mut state = seed.wrapping_add((n.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

fn float32(random: u64) -> u32 {
    let steps = (random >> 40) as f32 + 1.0;
    (steps / (1u32 << 24) as f32).max(1.0 / 1024.0).to_bits()
}

/// Four even numbers of 16 bits have a variance of 4/12 of their range squared.
fn normal(random: u64) -> u32 {
    let sum: u64 = (0..4).map(|n| random >> (16 * n) & 0xffff).sum();
    let centred = sum as f32 / 65536.0 - 2.0;
    (centred * 1.732_050_8).to_bits()
}

/// `k / 1024` for `k` from 1 to 1024, as half-precision bits.
fn half(random: u16) -> u32 {
    let k = u32::from(random & 1023) + 1;
    let log = 31 - k.leading_zeros();
    let mantissa = (k << (10 - log)) & 1023;
    (log + 15 - 10) << 10 | mantissa
}

/// `k / 256` for `k` from 1 to 256, as brain-float bits.
fn brain(random: u16) -> u32 {
    let k = f32::from((random & 255) + 1) / 256.0;
    k.to_bits() >> 16
}

fn indices(random: u64, bound: u32, bytes: u8) -> u32 {
    let below = |random: u64, bits: u32| {
        let bound = u64::from(bound.max(1)).min(1 << bits);
        (((random & 0xffff_ffff) * bound) >> 32) as u32
    };
    let (count, bits) = match bytes {
        1 => (4, 8),
        2 => (2, 16),
        _ => (1, 32),
    };
    (0..count).fold(0, |word, n| {
        let lane = random
            .rotate_left(n * 16)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            >> 32;
        word | below(lane, bits) << (n * bits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_of_every_width_are_positive_and_at_most_one() {
        for n in 0..10_000 {
            let single = f32::from_bits(Fill::Float32 { seed: 1 }.word(n));
            assert!(single > 0.0 && single <= 1.0, "{single}");
            let halves = Fill::Float16 { seed: 1 }.word(n);
            for half in [halves & 0xffff, halves >> 16] {
                // Between 2^-10 and 1 in half precision.
                assert!((0x1400..=0x3c00).contains(&half), "{half:#x}");
            }
            let brain = f32::from_bits(Fill::BFloat16 { seed: 1 }.word(n) << 16);
            assert!(brain > 0.0 && brain <= 1.0, "{brain}");
        }
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_deviation_one() {
        let fill = Fill::Normal32 { seed: 9 };
        let numbers: Vec<f64> = (0..20_000)
            .map(|n| f64::from(f32::from_bits(fill.word(n))))
            .collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64;
        assert!(mean.abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn indices_stay_below_their_bound_and_use_it() {
        for (bytes, bound) in [(4, 1000), (2, 77), (1, 200)] {
            let fill = Fill::Index {
                seed: 5,
                bound,
                bytes,
            };
            let bits = u32::from(bytes) * 8;
            let mask = u32::MAX >> (32 - bits);
            let numbers: Vec<u32> = (0..4000)
                .flat_map(|n| {
                    let word = fill.word(n);
                    (0..32 / bits).map(move |lane| word >> (lane * bits) & mask)
                })
                .collect();
            assert!(numbers.iter().all(|&n| n < bound));
            assert!(numbers.iter().any(|&n| n > bound * 9 / 10));
        }
    }
}

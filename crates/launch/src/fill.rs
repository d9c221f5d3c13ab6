//! Numbers made by a rule, one at a time.
//!
//! Every word is a function of the rule and its index, so contents depend neither on the order of accesses nor on the
//! number of threads, a buffer that is never touched takes no memory, and every command makes the same bytes.

use crate::element::Element;
use crate::series::Series;

/// What a buffer holds before anything is written to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// Elements by a rule.
    Elements {
        /// What they are.
        element: &'static Element,
        /// How they follow from their place.
        rule: Rule,
        /// Picks the numbers.
        seed: u64,
    },
    /// Numbers as a description says they are.
    Series(Series),
    /// This word again and again.
    Word(u32),
    /// Single-precision numbers from 2^-10 to 1: sums stay finite, reciprocals and logarithms have values.
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
}

/// How an element follows from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// 0, 1, 2, …
    Iota,
    /// Floats between −1 and 1, integers of any bits.
    Random,
    /// Whole numbers below a bound; 0 acts like 1.
    Below(u64),
}

impl Fill {
    /// The same with numbers picked by another seed, where there are random ones.
    #[must_use]
    pub fn seeded(mut self, new: u64) -> Fill {
        match &mut self {
            Fill::Elements { seed, .. }
            | Fill::Float32 { seed }
            | Fill::Uniform32 { seed, .. }
            | Fill::Normal32 { seed } => *seed = new,
            Fill::Zero | Fill::Series(_) | Fill::Word(_) => {}
        }
        self
    }

    /// So many words from the `n`th on.
    pub fn words(self, n: u64, count: usize) -> Vec<u32> {
        if let Fill::Series(series) = self {
            return words_of(&series, n, count);
        }
        (n..n + count as u64).map(|n| self.word(n)).collect()
    }

    fn word(self, n: u64) -> u32 {
        match self {
            Fill::Zero => 0,
            Fill::Word(word) => word,
            Fill::Series(series) => words_of(&series, n, 1).first().copied().unwrap_or(0),
            Fill::Elements {
                element,
                rule,
                seed,
            } => elements(element, rule, seed, n),
            Fill::Float32 { seed } => float32(mix(seed, n)),
            Fill::Uniform32 { seed, low, high } => {
                let share = (mix(seed, n) >> 40) as f32 / (1u32 << 24) as f32;
                (low + share * (high - low)).to_bits()
            }
            Fill::Normal32 { seed } => normal(mix(seed, n)),
        }
    }

    /// The first bytes.
    pub fn bytes(self, count: usize) -> Vec<u8> {
        if self == Fill::Zero {
            return vec![0; count];
        }
        let mut bytes: Vec<u8> = Vec::with_capacity(count.next_multiple_of(4));
        let words = count.div_ceil(4);
        for first in (0..words).step_by(CHUNK) {
            let some = self.words(first as u64, CHUNK.min(words - first));
            bytes.extend(some.into_iter().flat_map(u32::to_le_bytes));
        }
        bytes.truncate(count);
        bytes
    }
}

/// Words that are made together, so that rows are not added up again for each.
const CHUNK: usize = 1 << 14;

/// Words of a series, whose elements have two or four bytes.
fn words_of(series: &Series, n: u64, count: usize) -> Vec<u32> {
    let lanes = 4 / series.dtype.size().max(1) as u64;
    let numbers = series.numbers(n * lanes..(n + count as u64) * lanes);
    let bytes = series.dtype.encode(&numbers);
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// A well-mixed function of seed and index: the `n`th number of SplitMix64.
pub fn mix(seed: u64, n: u64) -> u64 {
    let mut state = seed.wrapping_add((n.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

/// The elements, or the part of one, that the `n`th word holds.
fn elements(element: &Element, rule: Rule, seed: u64, n: u64) -> u32 {
    let number = |index: u64| {
        let bytes = match rule {
            Rule::Iota => element.counted(index),
            Rule::Random => element.random(mix(seed, index)),
            Rule::Below(bound) => element.counted(mix(seed, index) % bound.max(1)),
        };
        u64::from_le_bytes(bytes)
    };
    let size = element.size as u64;
    if size > 4 {
        let words = size / 4;
        return (number(n / words) >> (32 * (n % words))) as u32;
    }
    let count = 4 / size.max(1);
    let mask = u64::MAX >> (64 - 8 * size.max(1));
    let lanes = (0..count).map(|lane| (number(n * count + lane) & mask) << (8 * size * lane));
    lanes.fold(0, |word, lane| word | lane) as u32
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ELEMENTS;

    #[test]
    fn floats_that_nobody_stated_are_positive_and_at_most_one() {
        for n in 0..10_000 {
            let single = f32::from_bits(Fill::Float32 { seed: 1 }.word(n));
            assert!(single > 0.0 && single <= 1.0, "{single}");
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

    /// Elements of 1, 2, 4 and 8 bytes lie side by side, whatever word they are asked for by.
    #[test]
    fn words_hold_elements_of_every_size() {
        for element in &ELEMENTS {
            for rule in [Rule::Iota, Rule::Random, Rule::Below(77)] {
                let fill = Fill::Elements {
                    element,
                    rule,
                    seed: 5,
                };
                let bytes = fill.bytes(50 * element.size);
                for (index, found) in (0..).zip(bytes.chunks_exact(element.size)) {
                    let expected = match rule {
                        Rule::Iota => element.counted(index),
                        Rule::Random => element.random(mix(5, index)),
                        Rule::Below(bound) => element.counted(mix(5, index) % bound),
                    };
                    assert_eq!(found, &expected[..element.size], "{} {index}", element.name);
                }
            }
        }
    }
}

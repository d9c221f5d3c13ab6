//! Bit ranges of an instruction word.
//!
//! Bit 0 is the lowest bit of byte 0: an instruction is one little-endian integer
//! of up to 128 bits. An operand's bits are often scattered (six bits here, two
//! extension bits at the very end), so a field is a list of ranges whose
//! contents are concatenated, low part first.

/// At most this many ranges make up one field.
const MAX_RANGES: usize = 13;

/// An instruction's bits as two machine words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halves(pub(crate) [u64; 2]);

impl Halves {
    pub(crate) const fn new(word: u128) -> Halves {
        Halves([word as u64, (word >> 64) as u64])
    }

    /// Returns true if a bit is set in both.
    #[inline(always)]
    pub(crate) const fn meets(&self, other: &Halves) -> bool {
        self.0[0] & other.0[0] | self.0[1] & other.0[1] != 0
    }
}

/// One range: where it lies in the instruction and where it goes in the field.
#[derive(Clone, Copy, Debug)]
struct Range {
    /// The range's bits in the field.
    mask: u64,
    /// By how many bits the machine word is rotated to the right to bring them there.
    rotate: u8,
    /// Which machine word, and the lowest bit in it.
    half: u8,
    shift: u8,
    /// How many bits.
    size: u8,
    /// The lowest bit in the field.
    at: u8,
}

/// A field of an instruction word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    ranges: [Range; MAX_RANGES],
    count: u8,
}

/// A field from inclusive `(low, high)` ranges, as the reference tables write them.
pub(crate) const fn bits(inclusive: &[(u8, u8)]) -> Bits {
    let mut ranges = [Range::EMPTY; MAX_RANGES];
    let mut i = 0;
    let mut at = 0;
    while i < inclusive.len() {
        let (low, high) = inclusive[i];
        assert!(low <= high && high < 128, "a range is low..=high below 128");
        assert!(low / 64 == high / 64, "a range lies in one machine word");
        let size = high - low + 1;
        assert!(size <= 32, "a range has at most 32 bits");
        ranges[i] = Range::new(low, size, at);
        at += size;
        i += 1;
    }
    assert!(at < 64, "a field is shorter than a machine word");
    Bits {
        ranges,
        count: inclusive.len() as u8,
    }
}

impl Range {
    const EMPTY: Range = Range {
        mask: 0,
        rotate: 0,
        half: 0,
        shift: 0,
        size: 0,
        at: 0,
    };

    /// `size` bits from bit `low` of the instruction, at bit `at` of the field.
    const fn new(low: u8, size: u8, at: u8) -> Range {
        Range {
            mask: low_mask(size) << at,
            rotate: (low % 64).wrapping_sub(at) % 64,
            half: low / 64,
            shift: low % 64,
            size,
            at,
        }
    }

    #[inline(always)]
    fn extract(self, word: Halves) -> u64 {
        let half = word.0[usize::from(self.half & 1)];
        half.rotate_right(u32::from(self.rotate)) & self.mask
    }
}

impl Bits {
    /// Collects the field out of an instruction.
    #[inline]
    pub(crate) fn extract(&self, word: Halves) -> u64 {
        // Nearly every field has one or two ranges; an unused one has no bits.
        let [first, second, ..] = self.ranges;
        let value = first.extract(word) | second.extract(word);
        if self.count <= 2 {
            return value;
        }
        let rest = self.iter().get(2..).unwrap_or_default();
        rest.iter()
            .fold(value, |value, range| value | range.extract(word))
    }

    /// Spreads the low bits of `value` over the field's place in a word.
    pub(crate) fn deposit(&self, value: u64) -> u128 {
        self.iter().iter().fold(0, |word, range| {
            let part = (value >> range.at) & low_mask(range.size);
            word | u128::from(part) << (64 * range.half + range.shift)
        })
    }

    /// How many bits the field has.
    pub(crate) fn width(&self) -> u8 {
        self.iter().iter().map(|range| range.size).sum()
    }

    /// The instruction's bits of the field, lowest bit of the field first.
    pub(crate) fn places(&self) -> impl Iterator<Item = u8> {
        let ranges = self.iter().iter();
        ranges.flat_map(|range| {
            let low = 64 * range.half + range.shift;
            low..low + range.size
        })
    }

    /// The mask and the rotation of the first two ranges.
    pub(crate) fn first_two(&self) -> [(u64, u8); 2] {
        let [first, second, ..] = self.ranges;
        [(first.mask, first.rotate), (second.mask, second.rotate)]
    }

    #[inline]
    fn iter(&self) -> &[Range] {
        &self.ranges[..usize::from(self.count).min(MAX_RANGES)]
    }
}

/// Some bits of an instruction, brought together in the order in which they lie there.
#[derive(Debug)]
pub(crate) struct Gather {
    low: [Run; LOW_RUNS],
    high: [Run; HIGH_RUNS],
    /// More, with the machine word they are in; few fields have any.
    rest: Box<[(usize, Run)]>,
}

/// Runs that are gathered without a loop. One that a field lacks has no bits.
const LOW_RUNS: usize = 2;
const HIGH_RUNS: usize = 1;

/// Neighbouring bits in a machine word.
#[derive(Clone, Copy, Debug)]
struct Run {
    mask: u64,
    rotate: u32,
}

impl Run {
    const EMPTY: Run = Run { mask: 0, rotate: 0 };

    #[inline(always)]
    fn extract(self, word: u64) -> u64 {
        word.rotate_right(self.rotate) & self.mask
    }
}

impl Gather {
    /// Gathers the bits that are set in `mask`.
    pub(crate) fn new(mask: u128) -> Gather {
        let mut gather = Gather {
            low: [Run::EMPTY; LOW_RUNS],
            high: [Run::EMPTY; HIGH_RUNS],
            rest: Box::default(),
        };
        let (mut low, mut high) = (gather.low.iter_mut(), gather.high.iter_mut());
        let mut rest = Vec::new();
        let mut at = 0;
        let Halves(halves) = Halves::new(mask);
        for (half, mut left) in halves.into_iter().enumerate() {
            while left != 0 {
                let start = left.trailing_zeros();
                let size = (left >> start).trailing_ones();
                let bits = u64::MAX >> (64 - size);
                left &= !(bits << start);
                let run = Run {
                    mask: bits.unbounded_shl(at),
                    rotate: start.wrapping_sub(at) % 64,
                };
                at += size;
                let place = if half == 0 { low.next() } else { high.next() };
                match place {
                    Some(place) => *place = run,
                    None => rest.push((half, run)),
                }
            }
        }
        gather.rest = rest.into();
        gather
    }

    /// The bits of an instruction, the lowest first.
    #[inline(always)]
    pub(crate) fn extract(&self, word: &Halves) -> u64 {
        let Halves([low, high]) = *word;
        let mut value = 0;
        for run in self.low {
            value |= run.extract(low);
        }
        for run in self.high {
            value |= run.extract(high);
        }
        for (half, run) in &self.rest {
            value |= run.extract(word.0[half & 1]);
        }
        value
    }
}

/// The lowest `size` bits set; `size` is at most 63.
#[inline]
pub(crate) const fn low_mask(size: u8) -> u64 {
    (1u64 << (size & 63)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_concatenate_low_part_first() {
        let field = bits(&[(4, 7), (0, 1), (70, 71)]);
        let word = 0b1010_0011 | 0b10 << 70;
        assert_eq!(field.extract(Halves::new(word)), 0b1011_1010);
        assert_eq!(field.deposit(0b1011_1010), word);
        assert_eq!(field.width(), 8);
    }

    #[test]
    fn gathered_bits_keep_their_order() {
        let mask = 0b1111_0000 | 1 << 20 | 0b11 << 30 | 1 << 40 | 0b111 << 63 | 1 << 100;
        let gather = Gather::new(mask);
        assert_eq!(gather.rest.len(), 4, "bits 30 and 31, 40, 63 and 100");
        for (value, bit) in (0..128).filter(|bit| mask >> bit & 1 != 0).enumerate() {
            let word = Halves::new(1 << bit | !mask);
            assert_eq!(gather.extract(&word), 1 << value);
        }
    }
}

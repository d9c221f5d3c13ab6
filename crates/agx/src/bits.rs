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

    /// The same field of instructions of which the bits of `mask` are known to be those of `value`.
    pub(crate) fn gather(&self, value: u128, mask: u128) -> Gather {
        let mut ranges: Vec<Range> = Vec::new();
        for range in self.iter() {
            for bit in 0..range.size {
                let (low, at) = (64 * range.half + range.shift + bit, range.at + bit);
                if mask >> low & 1 != 0 {
                    continue;
                }
                match ranges.last_mut() {
                    Some(last) if last.continues_at(low, at) => {
                        *last = Range::new(64 * last.half + last.shift, last.size + 1, last.at);
                    }
                    _ => ranges.push(Range::new(low, 1, at)),
                }
            }
        }
        let run = |range: Option<&Range>| {
            let range = range.unwrap_or(&Range::EMPTY);
            Run {
                mask: range.mask,
                rotate: range.rotate.into(),
                half: range.half.into(),
            }
        };
        Gather {
            fixed: self.extract(Halves::new(value & mask)),
            first: [run(ranges.first()), run(ranges.get(1))],
            rest: ranges
                .iter()
                .skip(2)
                .map(|range| run(Some(range)))
                .collect(),
        }
    }

    #[inline]
    fn iter(&self) -> &[Range] {
        &self.ranges[..usize::from(self.count).min(MAX_RANGES)]
    }
}

impl Range {
    /// Returns true if the bit `low` of the instruction, at `at` of the field, follows this range.
    fn continues_at(self, low: u8, at: u8) -> bool {
        low / 64 == self.half && low % 64 == self.shift + self.size && at == self.at + self.size
    }
}

/// A field of the instructions of one form: bits that the form fixes need not be looked at, and what touches is one range.
#[derive(Debug)]
pub(crate) struct Gather {
    fixed: u64,
    first: [Run; 2],
    rest: Box<[Run]>,
}

/// A range of a [`Gather`].
#[derive(Clone, Copy, Debug)]
struct Run {
    mask: u64,
    rotate: u32,
    half: u32,
}

impl Run {
    #[inline(always)]
    fn extract(self, word: &Halves) -> u64 {
        word.0[(self.half & 1) as usize].rotate_right(self.rotate) & self.mask
    }
}

impl Gather {
    /// Collects the field out of an instruction of the form.
    #[inline(always)]
    pub(crate) fn extract(&self, word: &Halves) -> u64 {
        let [first, second] = self.first;
        let mut value = self.fixed | first.extract(word) | second.extract(word);
        for range in &self.rest {
            value |= range.extract(word);
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
    fn what_a_form_fixes_need_not_be_gathered() {
        let field = bits(&[(4, 7), (0, 1), (8, 9), (10, 12), (70, 71)]);
        let gather = field.gather(0b10, 0b11);
        assert_eq!(gather.rest.len(), 1, "4 to 7, 8 to 12, 70 and 71");
        let word = 0b1_0110_1010_0110 | 0b10 << 70;
        assert_eq!(
            gather.extract(&Halves::new(word)),
            field.extract(Halves::new(word))
        );
    }
}

//! Bit ranges of an instruction word.
//!
//! Bit 0 is the lowest bit of byte 0: an instruction is one little-endian integer
//! of up to 96 bits. An operand's bits are often scattered (six bits here, two
//! extension bits at the very end), so a field is a list of ranges whose
//! contents are concatenated, low part first.

/// At most this many ranges make up one field.
const MAX_RANGES: usize = 6;

/// A field of an instruction word: inclusive ranges, low part first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    /// `(lowest bit, number of bits)` of each range.
    ranges: [(u8, u8); MAX_RANGES],
    count: u8,
}

/// A field from inclusive `(low, high)` ranges, as the reference tables write them.
pub(crate) const fn bits(inclusive: &[(u8, u8)]) -> Bits {
    let mut ranges = [(0, 0); MAX_RANGES];
    let mut i = 0;
    while i < inclusive.len() {
        let (low, high) = inclusive[i];
        assert!(low <= high && high < 96, "a range is low..=high below 96");
        ranges[i] = (low, high - low + 1);
        i += 1;
    }
    Bits {
        ranges,
        count: inclusive.len() as u8,
    }
}

impl Bits {
    /// Collects the field out of `word`.
    #[inline]
    pub(crate) fn extract(&self, word: u128) -> u64 {
        let mut value = 0;
        let mut at = 0;
        for &(low, size) in self.iter() {
            let part = ((word >> low) as u64) & low_mask(size);
            value |= part << at;
            at += size;
        }
        value
    }

    /// Spreads the low bits of `value` over the field's place in a word.
    pub(crate) fn deposit(&self, value: u64) -> u128 {
        let mut word = 0;
        let mut at = 0;
        for &(low, size) in self.iter() {
            let part = (value >> at) & low_mask(size);
            word |= u128::from(part) << low;
            at += size;
        }
        word
    }

    /// How many bits the field has.
    pub(crate) fn width(&self) -> u8 {
        self.iter().iter().map(|&(_, size)| size).sum()
    }

    #[inline]
    fn iter(&self) -> &[(u8, u8)] {
        &self.ranges[..usize::from(self.count).min(MAX_RANGES)]
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
        let field = bits(&[(4, 7), (0, 1)]);
        assert_eq!(field.extract(0b1010_0011), 0b11_1010);
        assert_eq!(field.deposit(0b11_1010), 0b1010_0011);
        assert_eq!(field.width(), 6);
    }
}

//! Sets of registers at 16-bit granularity, without allocation.

use std::fmt;
use std::ops::Range;

/// A set of half registers: `WORDS * 64` of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HalfSet<const WORDS: usize> {
    words: [u64; WORDS],
}

/// General half registers: `r0l` is 0, `r0h` is 1, ... `r127h` is 255.
pub type RegSet = HalfSet<4>;

/// Half uniforms: `u0l` is 0, ... `u255h` is 511.
pub type UniformSet = HalfSet<8>;

impl<const WORDS: usize> HalfSet<WORDS> {
    /// Nothing.
    pub const EMPTY: Self = HalfSet { words: [0; WORDS] };

    /// How many halves there are.
    pub const CAPACITY: u16 = WORDS as u16 * 64;

    /// Adds one half; an index outside the file is ignored.
    #[inline]
    pub fn insert(&mut self, half: u16) {
        if let Some(word) = self.words.get_mut(usize::from(half / 64)) {
            *word |= 1 << (half % 64);
        }
    }

    /// Adds a range of halves, clipped to the file.
    #[inline]
    pub fn insert_range(&mut self, halves: Range<u16>) {
        let end = halves.end.min(Self::CAPACITY);
        let mut at = halves.start;
        while at < end {
            // The part of the range that lies in one word.
            let stop = end.min((at | 63) + 1);
            if let Some(word) = self.words.get_mut(usize::from(at / 64)) {
                *word |= (u64::MAX >> (64 - (stop - at))) << (at % 64);
            }
            at = stop;
        }
    }

    /// Removes one half.
    pub fn remove(&mut self, half: u16) {
        if let Some(word) = self.words.get_mut(usize::from(half / 64)) {
            *word &= !(1 << (half % 64));
        }
    }

    /// Whether a half is in the set.
    #[inline]
    pub fn contains(&self, half: u16) -> bool {
        self.words
            .get(usize::from(half / 64))
            .is_some_and(|word| (word >> (half % 64)) & 1 != 0)
    }

    /// How many halves are in the set.
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether the two have a half in common.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        let pairs = self.words.iter().zip(&other.words);
        pairs.into_iter().any(|(a, b)| a & b != 0)
    }

    /// In either.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// In both.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// In `self` but not in `other`.
    #[must_use]
    pub fn difference(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    fn zip(mut self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        for (a, b) in self.words.iter_mut().zip(other.words) {
            *a = combine(*a, b);
        }
        self
    }

    /// The halves in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<WORDS> {
        let words = self.words;
        (0..WORDS as u16).flat_map(move |index| {
            let mut rest = words.get(usize::from(index)).copied().unwrap_or(0);
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as u16;
                    rest &= rest - 1;
                    index * 64 + bit
                })
            })
        })
    }

    /// The highest half, if any.
    pub fn last(&self) -> Option<u16> {
        let words = self.words.iter().enumerate().rev();
        let (index, word) = words.into_iter().find(|(_, word)| **word != 0)?;
        Some(index as u16 * 64 + 63 - word.leading_zeros() as u16)
    }
}

impl<const WORDS: usize> Default for HalfSet<WORDS> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<const WORDS: usize> FromIterator<u16> for HalfSet<WORDS> {
    fn from_iter<I: IntoIterator<Item = u16>>(halves: I) -> Self {
        let mut set = Self::EMPTY;
        for half in halves {
            set.insert(half);
        }
        set
    }
}

impl<const WORDS: usize> fmt::Debug for HalfSet<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clipped_and_iterated_in_order() {
        let mut set = RegSet::EMPTY;
        set.insert_range(62..66);
        set.insert_range(254..300);
        assert_eq!(set.iter().collect::<Vec<_>>(), [62, 63, 64, 65, 254, 255]);
        assert_eq!(set.len(), 6);
        assert_eq!(set.last(), Some(255));
        assert_eq!(RegSet::EMPTY.last(), None);
    }
}

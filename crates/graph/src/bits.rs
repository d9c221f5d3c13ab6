//! Dense bit sets.

/// A set of small numbers, as large as it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// An empty set with room for numbers below `size`.
    pub fn new(size: usize) -> BitSet {
        BitSet {
            words: vec![0; size.div_ceil(64)],
        }
    }

    /// The set of all numbers below `size`.
    pub fn full(size: usize) -> BitSet {
        BitSet {
            words: vec![u64::MAX; size.div_ceil(64)],
        }
    }

    /// Adds a number; one beyond the size is left out.
    pub fn insert(&mut self, at: usize) {
        if let Some(word) = self.words.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    /// Takes a number away.
    pub fn remove(&mut self, at: usize) {
        if let Some(word) = self.words.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }

    /// Returns true if a number is in the set.
    pub fn contains(&self, at: usize) -> bool {
        self.words
            .get(at / 64)
            .is_some_and(|word| word >> (at % 64) & 1 != 0)
    }

    /// Adds all of `other`.
    pub fn union(&mut self, other: &BitSet) {
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            *mine |= theirs;
        }
    }

    /// Keeps only what is in `other` too; says whether anything went.
    pub fn intersect(&mut self, other: &BitSet) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            changed |= *mine & !theirs != 0;
            *mine &= theirs;
        }
        changed
    }

    /// Becomes `used` and what is in `after` and not in `defined`; says whether it grew.
    pub fn flow(&mut self, used: &BitSet, after: &BitSet, defined: &BitSet) -> bool {
        let mut changed = false;
        let sources = used.words.iter().zip(&after.words).zip(&defined.words);
        for (mine, ((used, after), defined)) in self.words.iter_mut().zip(sources) {
            let new = used | after & !defined;
            changed |= new != *mine;
            *mine = new;
        }
        changed
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    index * 64 + bit
                })
            })
        })
    }
}

//! Pools that hold the operand lists of a function, and the table that makes equal constants one value.

use crate::inst::{IndexList, Value, ValueList};

/// Operand lists of a function. A list is never moved; rewriting an instruction with a longer list leaves
/// the old one behind, which costs a few bytes until the function is next cloned or read.
#[derive(Clone, Debug)]
pub(crate) struct Pools {
    /// Each list is preceded by the (start, length) pair in `spans` its handle names.
    spans: Vec<(u32, u32)>,
    values: Vec<Value>,
    indices: Vec<u32>,
}

impl Pools {
    pub(crate) fn new() -> Self {
        Self {
            spans: vec![(0, 0)],
            values: Vec::new(),
            indices: Vec::new(),
        }
    }

    fn span(&mut self, start: usize, len: usize) -> u32 {
        if len == 0 {
            return 0;
        }
        self.spans.push((start as u32, len as u32));
        self.spans.len() as u32 - 1
    }

    pub(crate) fn add_values(&mut self, values: &[Value]) -> ValueList {
        let start = self.values.len();
        self.values.extend_from_slice(values);
        ValueList(self.span(start, values.len()))
    }

    fn range(&self, handle: u32) -> std::ops::Range<usize> {
        let (start, len) = self.spans.get(handle as usize).copied().unwrap_or((0, 0));
        start as usize..start as usize + len as usize
    }

    #[inline]
    pub(crate) fn values(&self, list: ValueList) -> &[Value] {
        self.values.get(self.range(list.0)).unwrap_or(&[])
    }

    #[inline]
    pub(crate) fn values_mut(&mut self, list: ValueList) -> &mut [Value] {
        let range = self.range(list.0);
        self.values.get_mut(range).unwrap_or(&mut [])
    }

    pub(crate) fn add_indices(&mut self, indices: &[u32]) -> IndexList {
        let start = self.indices.len();
        self.indices.extend_from_slice(indices);
        IndexList(self.span(start, indices.len()))
    }

    #[inline]
    pub(crate) fn indices(&self, list: IndexList) -> &[u32] {
        self.indices.get(self.range(list.0)).unwrap_or(&[])
    }
}

/// Finds the value of a constant that exists already: open addressing over value numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstantTable {
    slots: Vec<u32>,
    used: usize,
}

impl ConstantTable {
    /// The value for which `same` holds among those with this hash, or where to put a new one.
    pub(crate) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return None,
                value if same(value - 1) => return Some(value - 1),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Enters a value that [`find`](Self::find) did not find. `hash_of` gives the hash of values already in.
    pub(crate) fn insert(&mut self, hash: u64, value: u32, hash_of: impl Fn(u32) -> u64) {
        if (self.used + 1) * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; (old.len() * 2).max(16)];
            for entry in old.into_iter().filter(|&entry| entry != 0) {
                self.place(hash_of(entry - 1), entry);
            }
        }
        self.place(hash, value + 1);
        self.used += 1;
    }

    fn place(&mut self, hash: u64, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = entry;
    }
}

/// Mixes words into a hash; cheap and good enough for a table of constants.
pub(crate) fn mix(words: impl IntoIterator<Item = u64>) -> u64 {
    let mut hash = 0x9e37_79b9_7f4a_7c15_u64;
    for word in words {
        hash = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash ^= hash >> 32;
    }
    hash
}

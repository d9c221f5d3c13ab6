//! What an element of an export is worth: one small value per definition.
//!
//! Exports define each value once (`id="7"`) and point back to it later
//! (`ref="7"`). A [`Slot`] is what is kept of a definition: sixteen bytes whatever
//! the element's size, because texts, threads and stacks are kept elsewhere.

use super::text::TextId;
use rustc_hash::FxHashMap;

/// An element name, numbered in order of appearance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagId(pub(crate) u16);

/// What a slot's fields mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// No such definition was seen.
    Undefined,
    /// `<sentinel/>`: no value.
    Sentinel,
    /// `number` is the value.
    Number,
    /// `number` holds the bits of an `f64`.
    Float,
    /// `text` is the value.
    Text,
    /// `number` is the process id, `text` the name.
    Process,
    /// `number` is the thread id, `text` the name.
    Thread,
    /// Structured text: `text` is its first piece that is not mere punctuation (or
    /// the whole as displayed, if the column asks for it), `number` the first size
    /// inside, or [`Slot::NO_NUMBER`].
    Label,
    /// `number` is an index into the stacks.
    Stack,
    /// A number that does not fit, or text where a number belongs.
    Bad,
}

/// The value of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) number: u64,
    pub(crate) text: TextId,
    pub(crate) tag: TagId,
    pub(crate) kind: Kind,
}

impl Slot {
    pub(crate) const NO_NUMBER: u64 = u64::MAX;
    pub(crate) const UNDEFINED: Slot = Slot {
        number: 0,
        text: TextId::EMPTY,
        tag: TagId(0),
        kind: Kind::Undefined,
    };
    pub(crate) const SENTINEL: Slot = Slot {
        kind: Kind::Sentinel,
        ..Slot::UNDEFINED
    };
}

/// Which ids a file refers to, found by a quick first pass over it.
///
/// Ids run from 1 to N in document order, so a bit per id is enough. An id larger
/// than its position in the file allows is odd and goes to a set of its own, so that
/// a lying number cannot make the bit map huge.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReferencedIds {
    bits: Vec<u64>,
    odd: rustc_hash::FxHashSet<u64>,
}

/// A definition takes at least this many bytes: `<a id="1"/>`.
const SHORTEST_DEFINITION: u64 = 11;

impl ReferencedIds {
    /// Notes a reference to `id` seen `offset` bytes into the file.
    pub(crate) fn insert(&mut self, id: u64, offset: u64) {
        if id > offset / SHORTEST_DEFINITION + 64 {
            self.odd.insert(id);
            return;
        }
        let word = (id / 64) as usize;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        if let Some(word) = self.bits.get_mut(word) {
            *word |= 1 << (id % 64);
        }
    }
}

/// Definitions by id.
#[derive(Debug)]
pub(crate) enum Definitions {
    /// Every definition is kept, indexed by id.
    All {
        slots: Vec<Slot>,
        odd: FxHashMap<u64, Slot>,
    },
    /// Only those known to be referred to: the rank of an id among them is its place.
    Referenced {
        bits: Vec<u64>,
        /// Number of ones before each word of `bits`.
        before: Vec<u32>,
        slots: Vec<Slot>,
        odd: FxHashMap<u64, Slot>,
    },
}

/// How far beyond the last id a new one may jump and still be indexed.
const JUMP: usize = 4096;

impl Definitions {
    pub(crate) fn all() -> Self {
        Definitions::All {
            slots: Vec::new(),
            odd: FxHashMap::default(),
        }
    }

    pub(crate) fn only(referenced: ReferencedIds) -> Self {
        let mut before = Vec::with_capacity(referenced.bits.len());
        let mut count = 0u32;
        for word in &referenced.bits {
            before.push(count);
            count = count.saturating_add(word.count_ones());
        }
        let undefined = |id| (id, Slot::UNDEFINED);
        Definitions::Referenced {
            bits: referenced.bits,
            before,
            slots: vec![Slot::UNDEFINED; count as usize],
            odd: referenced.odd.into_iter().map(undefined).collect(),
        }
    }

    /// Whether a definition of `id` is worth evaluating for its own sake.
    #[inline]
    pub(crate) fn keeps(&self, id: u64) -> bool {
        match self {
            Definitions::All { .. } => true,
            Definitions::Referenced { bits, odd, .. } => {
                let word = bits.get((id / 64) as usize).copied().unwrap_or(0);
                word >> (id % 64) & 1 == 1 || (!odd.is_empty() && odd.contains_key(&id))
            }
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, id: u64, slot: Slot) {
        match self {
            Definitions::All { slots, odd } => {
                let index = usize::try_from(id).unwrap_or(usize::MAX);
                if let Some(place) = slots.get_mut(index) {
                    *place = slot;
                } else if index < slots.len() + JUMP {
                    slots.resize(index, Slot::UNDEFINED);
                    slots.push(slot);
                } else {
                    odd.insert(id, slot);
                }
            }
            Definitions::Referenced {
                bits,
                before,
                slots,
                odd,
            } => {
                if let Some(place) =
                    rank(bits, before, id).and_then(|place| slots.get_mut(place as usize))
                {
                    *place = slot;
                } else if let Some(place) = odd.get_mut(&id) {
                    *place = slot;
                }
            }
        }
    }

    /// The definition of `id`. `None` when the first pass did not see that the file
    /// refers to it: then nothing was kept and all must be.
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<Slot> {
        match self {
            Definitions::All { slots, odd } => {
                let index = usize::try_from(id).unwrap_or(usize::MAX);
                let dense = slots.get(index).copied();
                Some(
                    dense
                        .filter(|slot| slot.kind != Kind::Undefined)
                        .or_else(|| odd.get(&id).copied())
                        .unwrap_or(Slot::UNDEFINED),
                )
            }
            Definitions::Referenced {
                bits,
                before,
                slots,
                odd,
            } => match rank(bits, before, id) {
                Some(place) => slots.get(place as usize).copied(),
                None => odd.get(&id).copied(),
            },
        }
    }
}

#[inline]
fn rank(bits: &[u64], before: &[u32], id: u64) -> Option<u32> {
    let index = usize::try_from(id / 64).ok()?;
    let word = *bits.get(index)?;
    let bit = id % 64;
    (word >> bit & 1 == 1)
        .then(|| before.get(index).copied().unwrap_or(0) + (word & ((1 << bit) - 1)).count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u64) -> Slot {
        Slot {
            number,
            kind: Kind::Number,
            ..Slot::UNDEFINED
        }
    }

    #[test]
    fn only_referenced_definitions_are_kept() {
        let mut referenced = ReferencedIds::default();
        for id in [3, 64, 65, 1000] {
            referenced.insert(id, 1 << 20);
        }
        let mut definitions = Definitions::only(referenced);
        for id in 1..2000 {
            definitions.set(id, number(id * 10));
        }
        for id in [3, 64, 65, 1000] {
            assert!(definitions.keeps(id));
            assert_eq!(definitions.get(id), Some(number(id * 10)));
        }
        assert!(!definitions.keeps(4));
        assert_eq!(definitions.get(4), None);
        let Definitions::Referenced { slots, .. } = &definitions else {
            unreachable!()
        };
        assert_eq!(slots.len(), 4);
    }

    #[test]
    fn lying_ids_take_little_memory() {
        let mut referenced = ReferencedIds::default();
        referenced.insert(u64::MAX, 100);
        assert!(referenced.bits.is_empty());
        let mut definitions = Definitions::only(referenced);
        definitions.set(u64::MAX, number(7));
        assert_eq!(definitions.get(u64::MAX), Some(number(7)));

        let mut all = Definitions::all();
        all.set(u64::MAX, number(8));
        all.set(1, number(9));
        assert_eq!(all.get(u64::MAX), Some(number(8)));
        assert_eq!(all.get(1), Some(number(9)));
        assert_eq!(all.get(2), Some(Slot::UNDEFINED));
    }
}

//! Small typed ids and the dense tables they index.
//!
//! Values, instructions, blocks are named by 32-bit ids of their own types ([`define_ids`]). Ids are
//! handed out consecutively, so a table keyed by an id is a plain vector. The id is stored as a non-zero number, which
//! makes an `Option` of it four bytes.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index handed out consecutively from zero.
pub trait Id: Copy + Eq + Ord + fmt::Debug {
    /// The id with this index; indices of 2³²−2 and above are saturated to the last id.
    fn from_index(index: usize) -> Self;
    /// The index of this id, from zero.
    fn index(self) -> usize;
}

#[cfg(debug_assertions)]
thread_local! {
    static LOOKUPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a lookup by id, in builds with debug assertions.
#[inline(always)]
pub fn tick() {
    #[cfg(debug_assertions)]
    LOOKUPS.with(|lookups| lookups.set(lookups.get().wrapping_add(1)));
}

/// Lookups by id on this thread so far: a measure of work that is the same on every machine. Only builds with debug
/// assertions count.
#[cfg(debug_assertions)]
pub fn lookups() -> u64 {
    LOOKUPS.with(std::cell::Cell::get)
}

/// Declares typed ids with their display prefix.
#[macro_export]
macro_rules! define_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::num::NonZeroU32);

        impl $crate::id::Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                let raw = u32::try_from(index).unwrap_or(u32::MAX - 1);
                Self(std::num::NonZeroU32::MIN.saturating_add(raw))
            }
            #[inline]
            fn index(self) -> usize {
                $crate::id::tick();
                self.0.get() as usize - 1
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}{}", $prefix, $crate::id::Id::index(*self))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
pub use define_ids;

/// A table that owns the things its ids name: pushing hands out the next id.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K: Id, V> IdVec<K, V> {
    /// An empty table.
    pub const fn new() -> Self {
        Self {
            items: Vec::new(),
            key: PhantomData,
        }
    }

    /// Adds an item and returns its id.
    #[inline]
    pub fn push(&mut self, item: V) -> K {
        let id = K::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// The id the next [`push`](Self::push) will return.
    pub fn next_id(&self) -> K {
        K::from_index(self.items.len())
    }

    /// The item of an id, if the id is of this table.
    #[inline]
    pub fn get(&self, id: K) -> Option<&V> {
        self.items.get(id.index())
    }

    /// The item of an id, if the id is of this table.
    #[inline]
    pub fn get_mut(&mut self, id: K) -> Option<&mut V> {
        self.items.get_mut(id.index())
    }

    /// Whether the id is of this table.
    pub fn contains(&self, id: K) -> bool {
        id.index() < self.items.len()
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.items.len()).map(K::from_index)
    }

    /// All items in order of their ids.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (K::from_index(index), item))
    }

    /// The first id whose item fits.
    pub fn find(&self, fits: impl FnMut(&V) -> bool) -> Option<K> {
        self.items.iter().position(fits).map(K::from_index)
    }

    /// The items alone.
    pub fn as_slice(&self) -> &[V] {
        &self.items
    }

    /// The items alone, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [V] {
        &mut self.items
    }

    /// Makes room for more items.
    pub fn reserve(&mut self, additional: usize) {
        self.items.reserve(additional);
    }
}

impl<K: Id, V> Default for IdVec<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Id, V: fmt::Debug> fmt::Debug for IdVec<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Id, V> Index<K> for IdVec<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, id: K) -> &V {
        &self.items[id.index()]
    }
}

impl<K: Id, V> IndexMut<K> for IdVec<K, V> {
    #[inline]
    fn index_mut(&mut self, id: K) -> &mut V {
        &mut self.items[id.index()]
    }
}

impl<K: Id, V> FromIterator<V> for IdVec<K, V> {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        Self {
            items: items.into_iter().collect(),
            key: PhantomData,
        }
    }
}

/// Extra facts about ids of another table: reading an id never written gives the default.
#[derive(Clone, Debug)]
pub struct IdMap<K, V> {
    items: Vec<V>,
    default: V,
    key: PhantomData<K>,
}

impl<K: Id, V: Clone> IdMap<K, V> {
    /// A map in which every id has the default.
    pub fn new(default: V) -> Self {
        Self {
            items: Vec::new(),
            default,
            key: PhantomData,
        }
    }

    /// As [`new`](Self::new), with room for `len` ids already made.
    pub fn with_len(default: V, len: usize) -> Self {
        Self {
            items: vec![default.clone(); len],
            default,
            key: PhantomData,
        }
    }

    /// Sets the value of an id.
    #[inline]
    pub fn set(&mut self, id: K, value: V) {
        self[id] = value;
    }

    /// Forgets everything but keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }
}

impl<K: Id, V: Clone> Index<K> for IdMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, id: K) -> &V {
        self.items.get(id.index()).unwrap_or(&self.default)
    }
}

impl<K: Id, V: Clone> IndexMut<K> for IdMap<K, V> {
    #[inline]
    fn index_mut(&mut self, id: K) -> &mut V {
        let index = id.index();
        if index >= self.items.len() {
            self.items.resize(index + 1, self.default.clone());
        }
        &mut self.items[index]
    }
}

/// A set of ids, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet<K> {
    words: Vec<u64>,
    key: PhantomData<K>,
}

impl<K: Id> IdSet<K> {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            words: Vec::new(),
            key: PhantomData,
        }
    }

    /// Adds an id; true when it was not there before.
    #[inline]
    pub fn insert(&mut self, id: K) -> bool {
        let (word, bit) = (id.index() / 64, 1u64 << (id.index() % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// Removes an id; true when it was there.
    pub fn remove(&mut self, id: K) -> bool {
        let (word, bit) = (id.index() / 64, 1u64 << (id.index() % 64));
        match self.words.get_mut(word) {
            Some(slot) if *slot & bit != 0 => {
                *slot &= !bit;
                true
            }
            _ => false,
        }
    }

    /// Whether the id is in the set.
    #[inline]
    pub fn contains(&self, id: K) -> bool {
        self.words
            .get(id.index() / 64)
            .is_some_and(|word| word >> (id.index() % 64) & 1 == 1)
    }

    /// Adds all ids of another set; true when the set grew.
    pub fn union(&mut self, other: &Self) -> bool {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        let mut grew = false;
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            grew |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        grew
    }

    /// All ids of the set in order.
    pub fn iter(&self) -> impl Iterator<Item = K> + '_ {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            (0..64)
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |bit| K::from_index(word * 64 + bit))
        })
    }

    /// Number of ids in the set.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether the set has no ids.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Removes all ids but keeps the memory.
    pub fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word = 0);
    }
}

impl<K: Id> FromIterator<K> for IdSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(ids: I) -> Self {
        let mut set = Self::new();
        for id in ids {
            set.insert(id);
        }
        set
    }
}

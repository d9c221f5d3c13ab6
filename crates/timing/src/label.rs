//! Labels as small numbers: a text is looked up once, recording uses its number.
//!
//! The table only grows and never beyond its capacity, so looking a text up takes no
//! lock. Texts past the capacity share one *overflow label*; memory stays bounded
//! whatever a program uses as labels.

use crate::sync::lock;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Longest label kept, in bytes. Longer texts are cut there, at a character's border.
pub const MAX_LABEL_BYTES: usize = 256;

/// Text shown for samples whose label did not fit into the table.
pub const OVERFLOW_LABEL: &str = "(other labels)";

/// A label's number in one [`Recorder`](crate::Recorder).
///
/// ```
/// let recorder = assay_timing::Recorder::new();
/// let attention = recorder.label("attention");
/// assert_eq!(recorder.label("attention"), attention);
/// recorder.record_id(attention, 42_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub(crate) u32);

impl LabelId {
    /// The label that takes samples once the table is full.
    pub const OVERFLOW: LabelId = LabelId(0);

    /// The number itself, for passing through C and for logs.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The label with this number. A number no label has is treated as the overflow label
    /// when it is recorded.
    pub const fn from_raw(number: u32) -> LabelId {
        LabelId(number)
    }
}

/// What became of labels that could not be kept as they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelLosses {
    /// Lookups that found the table full and were given the overflow label.
    pub overflowed: u64,
    /// Lookups of texts longer than [`MAX_LABEL_BYTES`].
    pub truncated: u64,
    /// Labels from C that were not UTF-8; the bad bytes are shown as U+FFFD.
    pub not_utf8: u64,
}

struct Slot {
    hash: u64,
    id: u32,
}

/// An insert-only hash table of texts with lock-free lookup.
pub(crate) struct Interner {
    slots: Box<[OnceLock<Slot>]>,
    texts: Box<[OnceLock<Arc<str>>]>,
    /// Number of labels, the overflow label included. Held while inserting.
    used: Mutex<u32>,
    full: AtomicBool,
    overflowed: AtomicU64,
    truncated: AtomicU64,
    not_utf8: AtomicU64,
}

impl Interner {
    /// Room for `capacity` labels beside the overflow label.
    pub(crate) fn new(capacity: usize) -> Interner {
        let texts: Box<[OnceLock<Arc<str>>]> = (0..=capacity).map(|_| OnceLock::new()).collect();
        if let Some(overflow) = texts.first() {
            overflow.get_or_init(|| OVERFLOW_LABEL.into());
        }
        // At most half full, so that a miss ends after a probe or two.
        let slots = (capacity * 2).next_power_of_two().max(2);
        Interner {
            slots: (0..slots).map(|_| OnceLock::new()).collect(),
            texts,
            used: Mutex::new(1),
            full: AtomicBool::new(capacity == 0),
            overflowed: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
            not_utf8: AtomicU64::new(0),
        }
    }

    /// The text's number, assigned now if the text is new and there is room.
    #[inline]
    pub(crate) fn intern(&self, text: &str) -> LabelId {
        let text = self.fit(text);
        let hash = hash(text.as_bytes());
        match self.find(hash, text) {
            Ok(id) => LabelId(id),
            Err(_) => self.insert(hash, text),
        }
    }

    /// Like [`intern`](Self::intern) for bytes that may not be UTF-8.
    pub(crate) fn intern_bytes(&self, bytes: &[u8]) -> LabelId {
        // A little more than is kept: the cut itself then falls on a character's border.
        let bytes = bytes.get(..MAX_LABEL_BYTES + 4).unwrap_or(bytes);
        match String::from_utf8_lossy(bytes) {
            Cow::Borrowed(text) => self.intern(text),
            Cow::Owned(text) => {
                // Only a character cut by the line above is not the caller's doing.
                let cut = bytes.len() > MAX_LABEL_BYTES
                    && std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
                if !cut {
                    self.not_utf8.fetch_add(1, Ordering::Relaxed);
                }
                self.intern(&text)
            }
        }
    }

    /// The text of a label; `None` for a number that was never given out.
    pub(crate) fn text(&self, id: LabelId) -> Option<Arc<str>> {
        self.texts.get(id.0 as usize)?.get().cloned()
    }

    /// Numbers given out so far, the overflow label included.
    pub(crate) fn len(&self) -> usize {
        *lock(&self.used) as usize
    }

    /// Room for labels, the overflow label included.
    pub(crate) fn capacity(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn losses(&self) -> LabelLosses {
        LabelLosses {
            overflowed: self.overflowed.load(Ordering::Relaxed),
            truncated: self.truncated.load(Ordering::Relaxed),
            not_utf8: self.not_utf8.load(Ordering::Relaxed),
        }
    }

    /// Forgets the counts of losses; labels stay, so that numbers stay valid.
    pub(crate) fn reset_losses(&self) {
        for count in [&self.overflowed, &self.truncated, &self.not_utf8] {
            count.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn fit<'text>(&self, text: &'text str) -> &'text str {
        if text.len() <= MAX_LABEL_BYTES {
            return text;
        }
        self.truncated.fetch_add(1, Ordering::Relaxed);
        let end = (0..=MAX_LABEL_BYTES)
            .rev()
            .find(|&end| text.is_char_boundary(end))
            .unwrap_or(0);
        text.get(..end).unwrap_or("")
    }

    /// The text's number, or the free slot where it belongs.
    #[inline]
    fn find(&self, hash: u64, text: &str) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            let Some(slot) = self.slots[place].get() else {
                return Err(place);
            };
            if slot.hash == hash && self.has_text(slot.id, text) {
                return Ok(slot.id);
            }
            place = (place + 1) & mask;
        }
    }

    #[inline]
    fn has_text(&self, id: u32, text: &str) -> bool {
        self.texts
            .get(id as usize)
            .and_then(OnceLock::get)
            .is_some_and(|known| &**known == text)
    }

    #[cold]
    fn insert(&self, hash: u64, text: &str) -> LabelId {
        if !self.full.load(Ordering::Relaxed) {
            let mut used = lock(&self.used);
            // Another thread may have been here first.
            let place = match self.find(hash, text) {
                Ok(id) => return LabelId(id),
                Err(place) => place,
            };
            if (*used as usize) < self.texts.len() {
                let id = *used;
                self.texts[id as usize].get_or_init(|| text.into());
                // Last: whoever finds the slot finds the text.
                self.slots[place].get_or_init(|| Slot { hash, id });
                *used += 1;
                self.full
                    .store(*used as usize == self.texts.len(), Ordering::Relaxed);
                return LabelId(id);
            }
        }
        self.overflowed.fetch_add(1, Ordering::Relaxed);
        LabelId::OVERFLOW
    }
}

/// A fast hash of short texts: eight bytes a step through a 128-bit product.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(FACTOR);
        (product as u64) ^ (product >> 64) as u64
    };
    let mut state = mix(0x243f_6a88_85a3_08d3, bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = mix(state, u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        // The last bytes as one word: at most seven, so the shift cannot overflow.
        let tail = rest
            .iter()
            .rev()
            .fold(0u64, |tail, byte| (tail << 8) | u64::from(*byte));
        state = mix(state, tail);
    }
    state
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_text_keeps_its_number_and_a_number_its_text() {
        let interner = Interner::new(100);
        let ids: Vec<LabelId> = (0..100)
            .map(|n| interner.intern(&format!("layer.{n}")))
            .collect();
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(interner.intern(&format!("layer.{n}")), *id);
            assert_eq!(&*interner.text(*id).unwrap(), format!("layer.{n}"));
        }
        assert_eq!(interner.len(), 101);
    }

    #[test]
    fn labels_past_the_capacity_share_the_overflow_label_and_are_counted() {
        let interner = Interner::new(2);
        let (a, b) = (interner.intern("a"), interner.intern("b"));
        assert_eq!(interner.intern("c"), LabelId::OVERFLOW);
        assert_eq!(interner.intern("c"), LabelId::OVERFLOW);
        assert_eq!((interner.intern("a"), interner.intern("b")), (a, b));
        assert_eq!(interner.losses().overflowed, 2);
    }

    #[test]
    fn a_table_without_room_has_only_the_overflow_label() {
        assert_eq!(Interner::new(0).intern("a"), LabelId::OVERFLOW);
    }

    #[test]
    fn the_empty_text_is_a_label_like_any_other() {
        let interner = Interner::new(4);
        assert_ne!(interner.intern(""), LabelId::OVERFLOW);
        assert_eq!(interner.intern(""), interner.intern_bytes(b""));
    }

    #[test]
    fn long_labels_are_cut_at_a_character() {
        let interner = Interner::new(4);
        let id = interner.intern(&"é".repeat(1000));
        assert_eq!(interner.text(id).unwrap().len(), MAX_LABEL_BYTES);
        // 255 one-byte characters, then one of three bytes that no longer fits.
        let id = interner.intern(&format!("{}€", "x".repeat(255)));
        assert_eq!(interner.text(id).unwrap().len(), 255);
        assert_eq!(interner.losses().truncated, 2);
    }

    #[test]
    fn bytes_that_are_not_text_become_a_readable_label() {
        let interner = Interner::new(4);
        let id = interner.intern_bytes(b"a\xff\xfeb");
        assert_eq!(&*interner.text(id).unwrap(), "a\u{fffd}\u{fffd}b");
        assert_eq!(interner.losses().not_utf8, 1);
        // A long text that is UTF-8 is not blamed for where we cut it.
        interner.intern_bytes("é€".repeat(300).as_bytes());
        assert_eq!(interner.losses().not_utf8, 1);
    }

    #[test]
    fn threads_that_meet_a_new_text_together_agree_on_its_number() {
        let interner = Interner::new(1000);
        let all: Vec<Vec<LabelId>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| (0..1000).map(|n| interner.intern(&n.to_string())).collect())
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(all.iter().all(|ids| *ids == all[0]));
        assert_eq!(interner.len(), 1001);
    }
}

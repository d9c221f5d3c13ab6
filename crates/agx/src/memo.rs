//! The text of operands, kept once it was composed.
//!
//! An operand has a few bits of the instruction, so all its texts have an entry in a table by those bits; neighbours of few bits
//! share one, so that an instruction is written in few pieces. A text is composed the first time its operands are written and
//! kept in a pool, where its entry points to; from then on writing is copying 32 bytes. Tables and pool take no memory before
//! that: they are zero pages. A [`Plan`] says for each form of the instruction table where its name and its pieces' tables are,
//! and which bits of the instruction are the index.
//!
//! The text of every operand begins with the `, ` that separates operands, unless it is empty.

use crate::bits::{Gather, Halves};
use crate::kind::Kind;
use crate::line::Line;
use crate::table::{Alias, Form, FormId, Spec};
use crate::text::{Skipped, write_operand};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Machine words that are copied for a piece, whether they count or not.
const WORDS: usize = 4;
/// The same in bytes. A longer text takes twice as many, such as the name of a special register.
pub(crate) const PLACE: usize = WORDS * 8;
/// Texts longer than this are composed each time.
const LONGEST: usize = 2 * PLACE;
/// Machine words of the pool: texts of two words for half a million pieces. When it is full, texts are composed each time.
const POOL: usize = 1 << 20;
/// Operands with more bits have no entries.
const MOST_BITS: u32 = 19;
/// Neighbouring operands with more bits are not one piece: the table would be large.
const SHARED_BITS: u32 = 18;
/// The start of the table of an operand without entries.
const NOWHERE: usize = usize::MAX >> 1;

/// What stands between operands.
const SEPARATOR: &str = ", ";

/// Bytes that are written for a name, counted or not.
pub(crate) const NAME: usize = 32;

/// The name of an instruction without its last character, which goes where the first operand's comma would be.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    pub(crate) bytes: [u8; NAME],
    pub(crate) length: u8,
    pub(crate) last: u8,
}

impl Name {
    /// Splits a name of ASCII characters: `add` is `ad` and `d`.
    pub(crate) const fn new(name: &str, suffix: &str) -> Name {
        let mut bytes = [0; NAME];
        let length = put(&mut bytes, name.as_bytes(), 0);
        let length = put(&mut bytes, suffix.as_bytes(), length);
        assert!(0 < length && length <= NAME, "a name has a few characters");
        Name {
            bytes,
            length: length as u8 - 1,
            last: bytes[length - 1],
        }
    }
}

/// Copies ASCII characters to a place in a name; returns where they end.
const fn put(to: &mut [u8; NAME], from: &[u8], start: usize) -> usize {
    let mut at = 0;
    while at < from.len() {
        assert!(from[at].is_ascii(), "names are ASCII");
        to[start + at] = from[at];
        at += 1;
    }
    start + from.len()
}

/// How some operands in a row are written.
pub(crate) struct Piece {
    /// The bits of the instruction that say which operands they are.
    gather: Gather,
    /// Where the table starts; beyond all entries for operands without a table.
    start: usize,
    operands: &'static [Spec],
}

/// How an instruction of one form is written.
pub(crate) struct Plan {
    pub(crate) name: Name,
    /// The same with `.sat`.
    pub(crate) saturated: Name,
    /// The bit that says so.
    pub(crate) saturate: Halves,
    pub(crate) alias: Alias,
    /// Bytes that may be written for such an instruction, unless a text is longer than a place.
    pub(crate) room: usize,
    pieces: Box<[Piece]>,
    /// The pieces when an alias replaces operands.
    replaced: Vec<(Skipped, Box<[Piece]>)>,
}

impl Plan {
    /// The pieces of an instruction's text.
    #[inline(always)]
    pub(crate) fn pieces(&self, skipped: Skipped) -> &[Piece] {
        match skipped {
            Skipped::NONE => &self.pieces,
            _ => self.remaining(skipped),
        }
    }

    fn remaining(&self, skipped: Skipped) -> &[Piece] {
        let mut plans = self.replaced.iter();
        plans
            .find(|(known, _)| *known == skipped)
            .map_or(&self.pieces, |(_, pieces)| pieces)
    }
}

/// Where a text is in the pool: its first word, and in the lowest byte its length. Zero if it has not been composed, or is too
/// long to be kept.
type Entry = AtomicU32;

/// A text that was composed before: its first words, of all of which `length` bytes count.
pub(crate) struct Kept {
    pub(crate) words: [u64; WORDS],
    pub(crate) length: u8,
    start: usize,
}

/// The plans of all forms, and the texts of their operands.
pub(crate) struct Memo {
    plans: Vec<Plan>,
    entries: Box<[Entry]>,
    pool: Box<[AtomicU64]>,
    /// Words of the pool that are taken. The first text does not start at 0, so that no entry of a text is zero.
    taken: AtomicUsize,
}

pub(crate) static MEMO: LazyLock<Memo> = LazyLock::new(Memo::new);

impl Memo {
    fn new() -> Memo {
        let mut tables = Tables::default();
        let plans = FormId::all().map(|id| tables.plan(id.form())).collect();
        Memo {
            plans,
            entries: entries(tables.end),
            pool: pool(),
            taken: AtomicUsize::new(1),
        }
    }

    #[inline(always)]
    pub(crate) fn plan(&self, id: FormId) -> &Plan {
        // Every form has a plan.
        &self.plans[id.index()]
    }

    /// The text of a piece, if it has been composed before and is not too long.
    #[inline(always)]
    pub(crate) fn text(&self, piece: &Piece, word: &Halves) -> Option<Kept> {
        // An entry is written after its text: with it, the text can be seen.
        let entry = self.entry(piece, word)?.load(Ordering::Acquire);
        let start = (entry >> 8) as usize;
        if start == 0 {
            return None;
        }
        Some(Kept {
            words: self.words(start)?,
            length: entry as u8,
            start,
        })
    }

    /// What follows the first words of a text that is longer.
    #[cold]
    pub(crate) fn rest(&self, kept: &Kept) -> [u64; WORDS] {
        self.words(kept.start + WORDS).unwrap_or_default()
    }

    #[inline(always)]
    fn words(&self, start: usize) -> Option<[u64; WORDS]> {
        let words: &[AtomicU64; WORDS] = self.pool.get(start..start + WORDS)?.first_chunk()?;
        let [first, second, third, fourth] = words;
        Some([first, second, third, fourth].map(|word| word.load(Ordering::Relaxed)))
    }

    #[inline(always)]
    fn entry(&self, piece: &Piece, word: &Halves) -> Option<&Entry> {
        let index = piece.gather.extract(word);
        self.entries.get(piece.start + index as usize)
    }

    /// Composes the text of a piece, appends it, and keeps it.
    #[cold]
    #[inline(never)]
    pub(crate) fn compose(
        &self,
        text: &mut String,
        piece: &Piece,
        word: &Halves,
        offset: Option<u64>,
    ) {
        let start = text.len();
        for spec in piece.operands {
            let before = text.len();
            text.push_str(SEPARATOR);
            write_operand(&mut Line::new(text), spec.operand(*word), offset);
            if text.len() == before + SEPARATOR.len() {
                text.truncate(before);
            }
        }
        if let Some(entry) = self.entry(piece, word)
            && let Some(kept) = self.keep(text.as_bytes().get(start..).unwrap_or_default())
        {
            entry.store(kept, Ordering::Release);
        }
    }

    /// Copies a text to the pool; returns its entry.
    fn keep(&self, text: &[u8]) -> Option<u32> {
        if text.len() > LONGEST {
            return None;
        }
        let count = text.len().div_ceil(8).max(1);
        let start = self.taken.fetch_add(count, Ordering::Relaxed);
        // Whoever reads the last text reads whole places.
        let words = self.pool.get(start..start + 2 * WORDS)?;
        for (word, to) in text.chunks(8).zip(words) {
            let mut bytes = [0; 8];
            bytes
                .iter_mut()
                .zip(word)
                .for_each(|(to, from)| *to = *from);
            to.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        Some((start as u32) << 8 | text.len() as u32)
    }
}

/// Where the bits of an operand come from: the gathered bits, or the form, which fixes them.
#[derive(PartialEq, Eq, Hash)]
enum Origin {
    Gathered(u32),
    Fixed(bool),
}

/// The tables that have been laid out so far, one after the other.
#[derive(Default)]
struct Tables {
    /// Pieces of the same kinds whose bits are gathered in the same order share a table.
    starts: HashMap<Vec<(Kind, Vec<Origin>)>, usize>,
    end: usize,
}

impl Tables {
    fn plan(&mut self, form: &'static Form) -> Plan {
        let saturate = match form.saturate_bit {
            0 => 0,
            bit => 1 << bit,
        };
        let pieces = self.pieces(form, Skipped::NONE);
        let mut replaced = Vec::new();
        for skipped in Skipped::of(form.alias) {
            replaced.push((*skipped, self.pieces(form, *skipped)));
        }
        let counts = replaced.iter().map(|(_, pieces)| pieces.len());
        let most = counts.fold(pieces.len(), usize::max);
        Plan {
            name: Name::new(form.name, ""),
            saturated: Name::new(form.name, ".sat"),
            saturate: Halves::new(saturate),
            alias: form.alias,
            room: NAME + LONGEST * most,
            pieces,
            replaced,
        }
    }

    /// Cuts the operands that are shown into as few pieces as have few bits.
    fn pieces(&mut self, form: &'static Form, skipped: Skipped) -> Box<[Piece]> {
        let operands = form.visible();
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < operands.len() {
            if skipped.contains(start) {
                start += 1;
                continue;
            }
            let mut end = start + 1;
            let can_grow = |end: usize| {
                end < operands.len()
                    && !skipped.contains(end)
                    && operands[start..=end].iter().all(|spec| !spec.is_target())
                    && free_bits(form, &operands[start..=end]).count_ones() <= SHARED_BITS
            };
            while can_grow(end) {
                end += 1;
            }
            pieces.push(self.piece(form, &operands[start..end]));
            start = end;
        }
        pieces.into()
    }

    fn piece(&mut self, form: &Form, operands: &'static [Spec]) -> Piece {
        let free = free_bits(form, operands);
        let width = free.count_ones();
        // The text of a branch depends on where it stands.
        let start = if width > MOST_BITS || operands.iter().any(Spec::is_target) {
            NOWHERE
        } else {
            let origin = |place: u8| match free >> place & 1 {
                0 => Origin::Fixed(form.value >> place & 1 != 0),
                _ => Origin::Gathered((free & ((1 << place) - 1)).count_ones()),
            };
            let origins = operands
                .iter()
                .map(|spec| (spec.kind, spec.bits.places().map(origin).collect()));
            let end = self.end;
            let start = *self.starts.entry(origins.collect()).or_insert(end);
            if start == end {
                self.end += 1 << width;
            }
            start
        };
        Piece {
            gather: Gather::new(free),
            start,
            operands,
        }
    }
}

/// The bits of an instruction that tell these operands and that the form does not fix.
fn free_bits(form: &Form, operands: &[Spec]) -> u128 {
    let places = operands.iter().flat_map(|spec| spec.bits.places());
    places.fold(0, |bits, place| bits | 1 << place) & !form.mask
}

/// So many empty entries, in pages that the system provides when they are first written.
fn entries(count: usize) -> Box<[Entry]> {
    const { assert!(align_of::<Entry>() == align_of::<u32>()) }
    let entries = Box::into_raw(vec![0u32; count].into_boxed_slice());
    // SAFETY: an `AtomicU32` has the size and the values of a `u32`, and here its alignment.
    unsafe { Box::from_raw(entries as *mut [Entry]) }
}

/// An empty pool, in such pages.
fn pool() -> Box<[AtomicU64]> {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) }
    let words = Box::into_raw(vec![0u64; POOL].into_boxed_slice());
    // SAFETY: an `AtomicU64` has the size and the values of a `u64`, and here its alignment.
    unsafe { Box::from_raw(words as *mut [AtomicU64]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_texts_equal_composed_ones() {
        let memo = Memo::new();
        let forms = FormId::all().map(FormId::form).zip(&memo.plans);
        for (form, piece) in forms.flat_map(|(form, plan)| {
            let replaced = plan.replaced.iter().flat_map(|(_, pieces)| pieces);
            let pieces = plan.pieces.iter().chain(replaced);
            pieces.map(move |piece| (form, piece))
        }) {
            let free = free_bits(form, piece.operands);
            let places: Vec<u32> = (0..128).filter(|place| free >> place & 1 != 0).collect();
            for index in (0..1u64 << places.len().min(MOST_BITS as usize)).step_by(37) {
                let bits = places.iter().enumerate();
                let spread = bits.fold(0, |word, (bit, place)| {
                    word | u128::from(index >> bit & 1) << place
                });
                let word = Halves::new(spread | form.value);
                let mut composed = String::new();
                memo.compose(&mut composed, piece, &word, Some(0));
                if let Some(kept) = memo.text(piece, &word) {
                    let words = [kept.words, memo.rest(&kept)];
                    let bytes = words.map(|words| words.map(u64::to_le_bytes));
                    let kept = &bytes.as_flattened().as_flattened()[..usize::from(kept.length)];
                    assert_eq!(composed.as_bytes(), kept, "{} {index:#x}", form.name);
                }
            }
        }
    }

    #[test]
    fn usual_operands_fit_in_a_place() {
        let memo = Memo::new();
        let texts = [", r127.discard.neg", ", r10_r11_r12_r13", ", u254_u255"];
        assert!(
            texts
                .iter()
                .all(|text| memo.keep(text.as_bytes()).is_some())
        );
        assert!(size_of_val(&*memo.entries) + size_of_val(&*memo.pool) < 64 << 20);
    }

    #[test]
    fn a_full_pool_keeps_nothing_more() {
        let memo = Memo::new();
        memo.taken.store(POOL - 2 * WORDS, Ordering::Relaxed);
        assert!(memo.keep(b", r1").is_some());
        assert_eq!(memo.keep(b", r2"), None);
        assert_eq!(memo.keep(b", r3"), None);
    }
}

//! The text of operands, kept once it was composed.
//!
//! A field of an operand has at most 17 bits, so all its texts have a place in a table by kind and field. A place is filled the
//! first time its operand is written; from then on writing is copying 24 bytes. Places take no memory before that: the
//! tables are zero pages. A [`Plan`] says for each form of the instruction table where its name and its operands' tables are, and which
//! bits of the instruction are the index.
//!
//! Every text begins with the `, ` that separates operands, unless it is empty.

use crate::bits::{Gather, Halves};
use crate::kind::Kind;
use crate::line::Line;
use crate::table::{Form, FormId, Spec};
use crate::text::write_operand;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Machine words of a place: characters, and in the last byte one more than their number, or 0 if the place is empty.
const WORDS: usize = 3;
/// Bytes that are written for an operand, counted or not.
pub(crate) const PLACE: usize = WORDS * 8;
/// The last byte of a place whose text is longer than a place.
const TOO_LONG: u8 = u8::MAX;
/// Fields with more bits have places only for their low values.
const MOST_BITS: u8 = 17;

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

/// How an operand is written.
pub(crate) struct OperandPlan {
    /// The bits of the instruction that say which operand it is.
    gather: Gather,
    /// Where the table starts, and how many places it has.
    start: u32,
    count: u32,
    spec: &'static Spec,
}

/// How an instruction of one form is written.
pub(crate) struct Plan {
    pub(crate) name: Name,
    /// The same with `.sat`.
    pub(crate) saturated: Name,
    pub(crate) operands: Box<[OperandPlan]>,
}

impl Plan {
    /// Bytes that may be written for such an instruction, unless a text is longer than a place.
    pub(crate) fn room(&self) -> usize {
        NAME + PLACE * self.operands.len()
    }
}

/// The plans of all forms, and the places of their operands' texts.
pub(crate) struct Memo {
    plans: Vec<Plan>,
    places: Box<[AtomicU64]>,
}

pub(crate) static MEMO: LazyLock<Memo> = LazyLock::new(Memo::new);

impl Memo {
    fn new() -> Memo {
        let specs = || FormId::all().flat_map(|id| id.form().visible());
        // For each kind, where its table starts and how many places it has.
        let mut tables: Vec<(Kind, usize, usize)> = Vec::new();
        for spec in specs().filter(|spec| !matches!(spec.kind, Kind::Target(_))) {
            let count = 1 << spec.bits.width().min(MOST_BITS);
            match tables.iter_mut().find(|(kind, ..)| *kind == spec.kind) {
                Some((_, _, most)) => *most = count.max(*most),
                None => tables.push((spec.kind, 0, count)),
            }
        }
        let mut end = 0;
        for (_, start, count) in &mut tables {
            *start = end;
            end += *count;
        }
        let plan = |form: &'static Form| Plan {
            name: Name::new(form.name, ""),
            saturated: Name::new(form.name, ".sat"),
            operands: form
                .visible()
                .iter()
                .map(|spec| {
                    let table = tables.iter().find(|(kind, ..)| *kind == spec.kind);
                    let (start, count) = table.map_or((0, 0), |&(_, start, count)| (start, count));
                    OperandPlan {
                        gather: spec.bits.gather(form.value, form.mask),
                        start: start as u32,
                        count: count as u32,
                        spec,
                    }
                })
                .collect(),
        };
        Memo {
            plans: FormId::all().map(|id| plan(id.form())).collect(),
            places: zeroed(end * WORDS),
        }
    }

    #[inline]
    pub(crate) fn plan(&self, id: FormId) -> &Plan {
        // The table has a form 0, and a plan for every form.
        &self.plans[id.index()]
    }

    /// The text of an operand, if it has been composed before and is not too long: bytes, of which so many count.
    #[inline(always)]
    pub(crate) fn text(&self, operand: &OperandPlan, word: Halves) -> Option<([u64; WORDS], u8)> {
        let [first, second, third] = self.place(operand, operand.gather.extract(word))?;
        // The last word is written last: with it, the others can be seen.
        let third = third.load(Ordering::Acquire);
        let length = ((third >> 56) as u8).wrapping_sub(1);
        if length >= PLACE as u8 {
            return None;
        }
        let (first, second) = (
            first.load(Ordering::Relaxed),
            second.load(Ordering::Relaxed),
        );
        Some(([first, second, third], length))
    }

    #[inline(always)]
    fn place(&self, operand: &OperandPlan, field: u64) -> Option<&[AtomicU64; WORDS]> {
        if field >= u64::from(operand.count) {
            return None;
        }
        let at = (operand.start as usize + field as usize) * WORDS;
        self.places.get(at..)?.first_chunk()
    }

    /// Composes the text of an operand, appends it, and keeps it.
    #[cold]
    #[inline(never)]
    pub(crate) fn compose(
        &self,
        text: &mut String,
        operand: &OperandPlan,
        word: Halves,
        offset: Option<u64>,
    ) {
        let before = text.len();
        let field = operand.gather.extract(word);
        text.push_str(SEPARATOR);
        let value = operand.spec.kind.decode(field);
        write_operand(&mut Line::new(text), value, offset);
        if text.len() == before + SEPARATOR.len() {
            text.truncate(before);
        }
        if let Some(place) = self.place(operand, field) {
            keep(place, text.as_bytes().get(before..).unwrap_or_default());
        }
    }
}

/// Fills a place. Whoever fills it writes the same.
fn keep(place: &[AtomicU64; WORDS], text: &[u8]) {
    let mut bytes = [0; PLACE];
    bytes[PLACE - 1] = match bytes.get_mut(..text.len()) {
        Some(start) if text.len() < PLACE => {
            start.copy_from_slice(text);
            text.len() as u8 + 1
        }
        _ => TOO_LONG,
    };
    let (words, _) = bytes.as_chunks::<8>();
    for (at, (word, to)) in words.iter().zip(place).enumerate() {
        let order = if at + 1 == WORDS {
            Ordering::Release
        } else {
            Ordering::Relaxed
        };
        to.store(u64::from_le_bytes(*word), order);
    }
}

/// So many zeros, in pages that the system provides when they are first written.
fn zeroed(count: usize) -> Box<[AtomicU64]> {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) }
    let words = Box::into_raw(vec![0u64; count].into_boxed_slice());
    // SAFETY: an `AtomicU64` has the size and the values of a `u64`, and here its alignment.
    unsafe { Box::from_raw(words as *mut [AtomicU64]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_texts_equal_composed_ones() {
        let memo = Memo::new();
        for operand in memo.plans.iter().flat_map(|plan| &plan.operands) {
            let width = operand.spec.bits.width().min(MOST_BITS);
            for field in (0..1u64 << width).step_by(37) {
                let word = Halves::new(operand.spec.bits.deposit(field));
                let mut composed = String::new();
                memo.compose(&mut composed, operand, word, Some(0));
                if let Some((words, length)) = memo.text(operand, word) {
                    let bytes = words.map(u64::to_le_bytes);
                    let kept = &bytes.as_flattened()[..usize::from(length)];
                    assert_eq!(
                        composed.as_bytes(),
                        kept,
                        "{:?} {field:#x}",
                        operand.spec.kind
                    );
                }
            }
        }
    }

    #[test]
    fn usual_operands_fit_in_a_place() {
        let memo = Memo::new();
        let places = [", r127.discard.neg", ", r10_r11_r12_r13", ", u254_u255"];
        assert!(places.iter().all(|text| text.len() < PLACE));
        assert!(memo.places.len() * 8 < 64 << 20);
    }
}

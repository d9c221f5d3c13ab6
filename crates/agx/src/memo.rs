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
use crate::table::{Alias, Form, FormId, Spec};
use crate::text::write_operand;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Machine words of a place: characters, and in the last byte one more than their number, or 0 if the place is empty.
const WORDS: usize = 3;
/// Bytes that are written for an operand, counted or not.
pub(crate) const PLACE: usize = WORDS * 8;
/// The last byte of a place whose text is longer than a place.
const TOO_LONG: u8 = u8::MAX;
/// Operands with more bits have no places.
const MOST_BITS: u8 = 17;
/// The start of the table of such an operand.
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

/// How an operand is written.
pub(crate) struct OperandPlan {
    /// The bits of the instruction that say which operand it is.
    gather: Gather,
    /// Where the table starts; beyond all places for operands without a table.
    start: usize,
    spec: &'static Spec,
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
    pub(crate) operands: Box<[OperandPlan]>,
}

/// A text of up to 23 characters.
type Place = [AtomicU64; WORDS];

/// The plans of all forms, and the places of their operands' texts.
pub(crate) struct Memo {
    plans: Vec<Plan>,
    places: Box<[Place]>,
}

pub(crate) static MEMO: LazyLock<Memo> = LazyLock::new(Memo::new);

impl Memo {
    fn new() -> Memo {
        // For each kind, where its table starts.
        let mut tables: Vec<(Kind, u8, usize)> = Vec::new();
        let mut end = 0;
        let mut plan = |form: &'static Form| {
            let visible = form.visible();
            let operand = |spec: &'static Spec| {
                let width = spec.bits.width();
                // The text of a branch depends on where it stands.
                let start = if width > MOST_BITS || matches!(spec.kind, Kind::Target(_)) {
                    NOWHERE
                } else {
                    let known = tables
                        .iter()
                        .find(|(kind, bits, _)| (*kind, *bits) == (spec.kind, width))
                        .map(|&(_, _, start)| start);
                    known.unwrap_or_else(|| {
                        tables.push((spec.kind, width, end));
                        let start = end;
                        end += 1 << width;
                        start
                    })
                };
                OperandPlan {
                    gather: spec.bits.gather(form.value, form.mask),
                    start,
                    spec,
                }
            };
            let saturate = match form.saturate_bit {
                0 => 0,
                bit => 1 << bit,
            };
            Plan {
                name: Name::new(form.name, ""),
                saturated: Name::new(form.name, ".sat"),
                saturate: Halves::new(saturate),
                alias: form.alias,
                room: NAME + PLACE * visible.len(),
                operands: visible.iter().map(operand).collect(),
            }
        };
        let plans = FormId::all().map(|id| plan(id.form())).collect();
        Memo {
            plans,
            places: empty(end),
        }
    }

    #[inline(always)]
    pub(crate) fn plan(&self, id: FormId) -> &Plan {
        // Every form has a plan.
        &self.plans[id.index()]
    }

    /// The text of an operand, if it has been composed before and is not too long: bytes, of which so many count.
    #[inline(always)]
    pub(crate) fn text(&self, operand: &OperandPlan, word: &Halves) -> Option<([u64; WORDS], u8)> {
        let [first, second, third] = self.place(operand, word)?;
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
    fn place(&self, operand: &OperandPlan, word: &Halves) -> Option<&Place> {
        let field = operand.gather.extract(word);
        self.places.get(operand.start + field as usize)
    }

    /// Composes the text of an operand, appends it, and keeps it.
    #[cold]
    #[inline(never)]
    pub(crate) fn compose(
        &self,
        text: &mut String,
        operand: &OperandPlan,
        word: &Halves,
        offset: Option<u64>,
    ) {
        let before = text.len();
        text.push_str(SEPARATOR);
        let value = operand.spec.operand(*word);
        write_operand(&mut Line::new(text), value, offset);
        if text.len() == before + SEPARATOR.len() {
            text.truncate(before);
        }
        if let Some(place) = self.place(operand, word) {
            keep(place, text.as_bytes().get(before..).unwrap_or_default());
        }
    }
}

/// Fills a place. Whoever fills it writes the same.
fn keep(place: &Place, text: &[u8]) {
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

/// So many empty places, in pages that the system provides when they are first written.
fn empty(count: usize) -> Box<[Place]> {
    const { assert!(align_of::<Place>() == align_of::<u64>()) }
    let places = Box::into_raw(vec![[0u64; WORDS]; count].into_boxed_slice());
    // SAFETY: an `AtomicU64` has the size and the values of a `u64`, and here its alignment.
    unsafe { Box::from_raw(places as *mut [Place]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_texts_equal_composed_ones() {
        let memo = Memo::new();
        let forms = FormId::all().map(FormId::form).zip(&memo.plans);
        for (form, operand) in
            forms.flat_map(|(form, plan)| plan.operands.iter().map(move |o| (form, o)))
        {
            let width = operand.spec.bits.width().min(MOST_BITS);
            for field in (0..1u64 << width).step_by(37) {
                let free = operand.spec.bits.deposit(field) & !form.mask;
                let word = Halves::new(free | form.value);
                let mut composed = String::new();
                memo.compose(&mut composed, operand, &word, Some(0));
                if let Some((words, length)) = memo.text(operand, &word) {
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
        assert!(size_of_val(&*memo.places) < 64 << 20);
    }
}

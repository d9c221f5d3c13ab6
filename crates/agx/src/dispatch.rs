//! From the first bits of an instruction to the few forms it can have.
//!
//! Built once from the table. The low byte picks a group; crowded groups are split
//! further by a selector, so that most instructions are compared with one or two forms.

use crate::bits::{Bits, bits, low_mask};
use crate::table::{FAMILIES, Form};
use std::sync::LazyLock;

/// What decides whether a word has a form, side by side in memory.
pub(crate) struct Candidate {
    value: u128,
    mask: u128,
    short: u8,
    long: u8,
    length_bit: u8,
    pub(crate) form: &'static Form,
}

impl Candidate {
    fn new(form: &'static Form) -> Candidate {
        Candidate {
            value: form.value,
            mask: form.mask,
            short: form.short,
            long: form.long,
            length_bit: form.length_bit,
            form,
        }
    }

    /// The word cut to its length, and the length, when it has this form.
    #[inline]
    pub(crate) fn matches(&self, word: u128) -> Option<(u128, u8)> {
        let is_long = (word >> self.length_bit) & 1 != 0;
        let length = if is_long { self.long } else { self.short };
        let own = word & length_mask(length);
        (own & self.mask == self.value).then_some((own, length))
    }
}

/// The forms an instruction word can have, in the order they are tried.
#[inline]
pub(crate) fn candidates(word: u128) -> &'static [Candidate] {
    DISPATCH.candidates(word)
}

/// Masks an instruction word to its length in bytes.
#[inline]
pub(crate) fn length_mask(bytes: u8) -> u128 {
    LENGTH_MASKS[usize::from(bytes & 15)]
}

/// Every form of the table, in order.
pub(crate) fn forms() -> impl Iterator<Item = &'static Form> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

static DISPATCH: LazyLock<Dispatch> = LazyLock::new(Dispatch::build);

const LENGTH_MASKS: [u128; 16] = {
    let mut masks = [0; 16];
    let mut bytes = 0;
    while bytes < 16 {
        masks[bytes] = (1u128 << (8 * bytes)) - 1;
        bytes += 1;
    }
    masks
};

/// Bits that split a crowded group.
const SELECTORS: [Bits; 4] = [
    bits(&[]),
    bits(&[(15, 15), (26, 30), (38, 40), (47, 47)]),
    bits(&[(28, 33)]),
    bits(&[(15, 15), (26, 27)]),
];

/// The selector of a low byte.
fn selector(low_byte: u8) -> usize {
    match low_byte & 0x7f {
        0x6f => 1,
        0x0a | 0x4a => 2,
        0x2e | 0x3e => 3,
        _ => 0,
    }
}

#[derive(Clone, Copy, Default)]
struct Group {
    selector: u16,
    first_cell: u16,
}

struct Dispatch {
    groups: [Group; 256],
    /// Start and end in `lists`.
    cells: Vec<(u16, u16)>,
    lists: Vec<Candidate>,
}

impl Dispatch {
    fn build() -> Dispatch {
        let mut dispatch = Dispatch {
            groups: [Group::default(); 256],
            cells: Vec::new(),
            lists: Vec::new(),
        };
        for low_byte in 0..=255u8 {
            let selector = selector(low_byte);
            dispatch.groups[usize::from(low_byte)] = Group {
                selector: selector as u16,
                first_cell: dispatch.cells.len() as u16,
            };
            let chooser = SELECTORS[selector];
            let covered = 0xff | chooser.deposit(u64::MAX >> 1);
            for key in 0..=low_mask(chooser.width()) {
                let word = u128::from(low_byte) | chooser.deposit(key);
                dispatch.push_cell(word, covered);
            }
        }
        dispatch
    }

    fn push_cell(&mut self, word: u128, covered: u128) {
        let start = self.lists.len() as u16;
        for form in forms() {
            let can_match = [form.short, form.long].into_iter().any(|length| {
                let mask = form.mask & length_mask(length);
                form.value & !mask == 0 && (word ^ form.value) & mask & covered == 0
            });
            if can_match {
                self.lists.push(Candidate::new(form));
            }
            if can_match && form.mask & !covered == 0 && form.short == form.long {
                break;
            }
        }
        self.cells.push((start, self.lists.len() as u16));
    }

    #[inline]
    fn candidates(&self, word: u128) -> &[Candidate] {
        let group = self.groups[usize::from(word as u8)];
        let key = match group.selector {
            0 => 0,
            n => SELECTORS[usize::from(n & 3)].extract(word) as usize,
        };
        let Some(&(start, end)) = self.cells.get(usize::from(group.first_cell) + key) else {
            return &[];
        };
        self.lists
            .get(usize::from(start)..usize::from(end))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables are indexed by 16-bit numbers.
    #[test]
    fn indices_fit() {
        assert!(DISPATCH.cells.len() < usize::from(u16::MAX));
        assert!(DISPATCH.lists.len() < usize::from(u16::MAX));
    }
}

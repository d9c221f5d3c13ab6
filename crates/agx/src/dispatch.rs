//! From the first bits of an instruction to its form.
//!
//! Built once from the table. The low byte picks a group; crowded groups are split
//! further by a selector, so that most instructions are compared with one or two forms.

use crate::bits::{Bits, bits, low_mask};
use crate::table::{FAMILIES, Form};
use std::sync::LazyLock;

/// The form and length of the instruction with these lowest 64 and next 32 bits.
#[inline]
pub(crate) fn recognise(low: u64, high: u32) -> Option<(&'static Form, u8)> {
    for candidate in DISPATCH.candidates(low) {
        let length = candidate.length(low);
        let (low_mask, high_mask) = length_masks(length);
        let low_differs = (low & low_mask & candidate.low_mask) ^ candidate.low_value;
        let high_differs = (high & high_mask & candidate.high_mask) ^ candidate.high_value;
        if low_differs | u64::from(high_differs) == 0 {
            return Some((candidate.form, length));
        }
    }
    None
}

/// Masks that cut an instruction's bits to its length in bytes.
#[inline]
pub(crate) fn length_masks(bytes: u8) -> (u64, u32) {
    LENGTH_MASKS[usize::from(bytes & 15)]
}

/// The same for the whole word.
pub(crate) fn length_mask(bytes: u8) -> u128 {
    let (low, high) = length_masks(bytes);
    u128::from(low) | u128::from(high) << 64
}

/// Every form of the table, in order.
pub(crate) fn forms() -> impl Iterator<Item = &'static Form> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

static DISPATCH: LazyLock<Dispatch> = LazyLock::new(Dispatch::build);

static LENGTH_MASKS: [(u64, u32); 16] = {
    let mut masks = [(0, 0); 16];
    let mut bytes = 0;
    while bytes < 16 {
        let mask = (1u128 << (8 * bytes)) - 1;
        masks[bytes] = (mask as u64, (mask >> 64) as u32);
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
fn selector(low_byte: u8) -> u16 {
    match low_byte & 0x7f {
        0x6f => 1,
        0x0a | 0x4a => 2,
        0x2e | 0x3e => 3,
        _ => 0,
    }
}

/// What decides whether an instruction has a form, side by side in memory.
struct Candidate {
    low_value: u64,
    low_mask: u64,
    high_value: u32,
    high_mask: u32,
    form: &'static Form,
    short: u8,
    long: u8,
    length_bit: u8,
}

impl Candidate {
    fn new(form: &'static Form) -> Candidate {
        Candidate {
            low_value: form.value as u64,
            low_mask: form.mask as u64,
            high_value: (form.value >> 64) as u32,
            high_mask: (form.mask >> 64) as u32,
            form,
            short: form.short,
            long: form.long,
            length_bit: form.length_bit,
        }
    }

    #[inline]
    fn length(&self, low: u64) -> u8 {
        if (low >> (self.length_bit & 63)) & 1 != 0 {
            self.long
        } else {
            self.short
        }
    }
}

/// The candidates of a low byte: from `start` to `end`, or cells that say so.
#[derive(Clone, Copy, Default)]
struct Group {
    start: u16,
    end: u16,
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
            let chooser = SELECTORS[usize::from(selector)];
            let first_cell = dispatch.cells.len() as u16;
            let covered = 0xff | chooser.deposit(u64::MAX >> 1);
            let mut range = (0, 0);
            for key in 0..=low_mask(chooser.width()) {
                let word = u128::from(low_byte) | chooser.deposit(key);
                range = dispatch.push_candidates(word, covered);
                if selector != 0 {
                    dispatch.cells.push(range);
                }
            }
            dispatch.groups[usize::from(low_byte)] = Group {
                start: range.0,
                end: range.1,
                selector,
                first_cell,
            };
        }
        dispatch
    }

    /// Adds the forms that a word can have, of which only the `covered` bits are known.
    fn push_candidates(&mut self, word: u128, covered: u128) -> (u16, u16) {
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
        (start, self.lists.len() as u16)
    }

    #[inline]
    fn candidates(&self, low: u64) -> &[Candidate] {
        let group = &self.groups[usize::from(low as u8)];
        let (start, end) = match group.selector {
            0 => (group.start, group.end),
            selector => {
                let key = SELECTORS[usize::from(selector & 3)].extract(u128::from(low));
                let cell = usize::from(group.first_cell) + key as usize;
                self.cells.get(cell).copied().unwrap_or_default()
            }
        };
        self.lists
            .get(usize::from(start)..usize::from(end))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_fit_in_16_bits() {
        assert!(DISPATCH.cells.len() < usize::from(u16::MAX));
        assert!(DISPATCH.lists.len() < usize::from(u16::MAX));
    }

    #[test]
    fn an_instruction_value_is_small() {
        assert!(size_of::<crate::Instruction>() <= 24);
    }
}

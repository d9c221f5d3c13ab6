//! From the first bits of an instruction to its form.
//!
//! Built once from the table. The lowest bits pick a group; crowded groups are split
//! further by a selector, so that most instructions are compared with one or two forms.

use crate::bits::{Bits, Halves, bits, low_mask};
use crate::isa::Family;
use crate::table::{Form, FormId};
use std::collections::HashMap;
use std::sync::LazyLock;

/// How the instructions of a family are recognised.
pub(crate) fn dispatch(family: Family) -> &'static Dispatch {
    match family {
        Family::G13 => &G13,
        Family::G15 => &G15,
    }
}

/// The form and length of the instruction with these lowest 64 and next 64 bits.
#[inline(always)]
pub(crate) fn recognise(dispatch: &'static Dispatch, low: u64, high: u64) -> Option<(FormId, u8)> {
    for candidate in dispatch.candidates(low) {
        let length = candidate.length(low);
        let (low_mask, high_mask) = length_masks(length);
        let low_differs = (low & low_mask & candidate.low_mask) ^ candidate.low_value;
        let high_differs = (high & high_mask & candidate.high_mask) ^ candidate.high_value;
        if low_differs | high_differs == 0 {
            return Some((candidate.form, length));
        }
    }
    None
}

/// Masks that cut an instruction's bits to its length in bytes.
#[inline]
pub(crate) fn length_masks(bytes: u8) -> (u64, u64) {
    LENGTH_MASKS[usize::from(bytes & 31)]
}

/// The same for the whole word.
pub(crate) fn length_mask(bytes: u8) -> u128 {
    let (low, high) = length_masks(bytes);
    u128::from(low) | u128::from(high) << 64
}

/// Every form of a family's table, in order.
pub(crate) fn forms(family: Family) -> impl Iterator<Item = &'static Form> {
    FormId::of(family).map(FormId::form)
}

static G13: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::build(Family::G13));
static G15: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::build(Family::G15));

/// Masks by length in bytes; a length above 16 does not occur.
static LENGTH_MASKS: [(u64, u64); 32] = {
    let mut masks = [(u64::MAX, u64::MAX); 32];
    let mut bytes = 0;
    while bytes < 16 {
        let mask = (1u128 << (8 * bytes)) - 1;
        masks[bytes] = (mask as u64, (mask >> 64) as u64);
        bytes += 1;
    }
    masks
};

/// Bits that split a crowded group.
const SELECTORS: [Bits; 16] = [
    bits(&[]),
    bits(&[(15, 15), (26, 30), (38, 40), (47, 47)]),
    bits(&[(28, 33)]),
    bits(&[(15, 15), (26, 27)]),
    // G15: what is computed and how long it is, in groups 0 to 4.
    bits(&[(16, 18), (32, 33)]),
    bits(&[(16, 17), (32, 34)]),
    bits(&[(16, 18), (32, 33)]),
    bits(&[(15, 17), (20, 20)]),
    bits(&[]),
    bits(&[]),
    bits(&[]),
    bits(&[]),
    bits(&[]),
    bits(&[]),
    bits(&[]),
    bits(&[]),
];

/// The lowest bits that pick a group: a byte, or the opcode of G15's group 7.
const fn group_bits(family: Family) -> u64 {
    match family {
        Family::G13 => 0xff,
        Family::G15 => 0xfff,
    }
}

/// The selector of a group.
fn selector(family: Family, low: u64) -> u16 {
    match (family, low & 0x7f) {
        (Family::G13, 0x6f) => 1,
        (Family::G13, 0x0a | 0x4a) => 2,
        (Family::G13, 0x2e | 0x3e) => 3,
        (Family::G13, _) => 0,
        (Family::G15, byte) => match byte & 7 {
            0 | 1 => 4,
            2 => 5,
            3 => 6,
            4 => 7,
            _ => 0,
        },
    }
}

/// What decides whether an instruction has a form, side by side in memory.
struct Candidate {
    low_value: u64,
    low_mask: u64,
    high_value: u64,
    high_mask: u64,
    form: FormId,
    short: u8,
    long: u8,
    length_bit: u8,
}

impl Candidate {
    fn new(id: FormId) -> Candidate {
        let form = id.form();
        Candidate {
            low_value: form.value as u64,
            low_mask: form.mask as u64,
            high_value: (form.value >> 64) as u64,
            high_mask: (form.mask >> 64) as u64,
            form: id,
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

/// More groups than any family has.
const GROUPS: usize = 4096;

/// The candidates of a group: from `start` to `end`, or cells that say so.
#[derive(Clone, Copy, Default)]
struct Group {
    start: u16,
    end: u16,
    selector: u16,
    first_cell: u16,
}

pub(crate) struct Dispatch {
    groups: Box<[Group; GROUPS]>,
    /// Which of the lowest bits pick the group.
    group_bits: u64,
    /// Start and end in `lists`.
    cells: Vec<(u16, u16)>,
    lists: Vec<Candidate>,
}

impl Dispatch {
    fn build(family: Family) -> Dispatch {
        let mut dispatch = Dispatch {
            groups: Box::new([Group::default(); GROUPS]),
            group_bits: group_bits(family),
            cells: Vec::new(),
            lists: Vec::new(),
        };
        // Many cells have the same candidates, which are kept once.
        let mut known = HashMap::new();
        for low in 0..=dispatch.group_bits {
            // Outside group 7 the lowest byte is enough.
            if low > 0xff && low & 7 != 7 {
                dispatch.groups[low as usize % GROUPS] = dispatch.groups[low as usize & 0xff];
                continue;
            }
            let picked = match low & 7 {
                7 => u128::from(dispatch.group_bits),
                _ => 0xff,
            };
            let here: Vec<FormId> = FormId::of(family)
                .filter(|id| can_match(id.form(), u128::from(low), picked))
                .collect();
            let selector = selector(family, low);
            let chooser = SELECTORS[usize::from(selector)];
            let first_cell = dispatch.cells.len() as u16;
            let covered = picked | chooser.deposit(u64::MAX >> 1);
            let mut range = (0, 0);
            for key in 0..=low_mask(chooser.width()) {
                let word = u128::from(low) | chooser.deposit(key);
                let found = candidates(&here, word, covered);
                range = *known
                    .entry(found)
                    .or_insert_with_key(|found| dispatch.push(found));
                if selector != 0 {
                    dispatch.cells.push(range);
                }
            }
            dispatch.groups[low as usize % GROUPS] = Group {
                start: range.0,
                end: range.1,
                selector,
                first_cell,
            };
        }
        dispatch
    }

    /// Adds a list of candidates.
    fn push(&mut self, found: &[FormId]) -> (u16, u16) {
        let start = self.lists.len() as u16;
        self.lists.extend(found.iter().copied().map(Candidate::new));
        (start, self.lists.len() as u16)
    }

    #[inline]
    fn candidates(&self, low: u64) -> &[Candidate] {
        let group = &self.groups[(low & self.group_bits) as usize % GROUPS];
        let (start, end) = match group.selector {
            0 => (group.start, group.end),
            selector => {
                let key = SELECTORS[usize::from(selector & 15)].extract(Halves([low, 0]));
                let cell = usize::from(group.first_cell) + key as usize;
                self.cells.get(cell).copied().unwrap_or_default()
            }
        };
        self.lists
            .get(usize::from(start)..usize::from(end))
            .unwrap_or_default()
    }
}

/// Returns true if a word of which only the `covered` bits are known can have this form.
fn can_match(form: &Form, word: u128, covered: u128) -> bool {
    [form.short, form.long].into_iter().any(|length| {
        let mask = form.mask & length_mask(length);
        form.value & !mask == 0 && (word ^ form.value) & mask & covered == 0
    })
}

/// The forms that such a word can have, up to one that it certainly has.
fn candidates(forms: &[FormId], word: u128, covered: u128) -> Vec<FormId> {
    let mut found = Vec::new();
    for id in forms {
        let form = id.form();
        if !can_match(form, word, covered) {
            continue;
        }
        found.push(*id);
        if form.mask & !covered == 0 && form.short == form.long {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_fit_in_16_bits() {
        for dispatch in [&G13, &G15] {
            assert!(dispatch.cells.len() < usize::from(u16::MAX));
            assert!(dispatch.lists.len() < usize::from(u16::MAX));
        }
    }

    #[test]
    fn an_instruction_value_is_small() {
        // Sixteen bytes of code, and a form, a length and an instruction set in a machine word.
        assert_eq!(size_of::<crate::Instruction>(), 24);
    }
}

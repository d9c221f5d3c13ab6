//! From the first bits of an instruction to its form.
//!
//! Built once from the table. The first byte picks a group, a few bits that differ from group to group pick a cell, and the
//! cell says how long the instruction is and with which forms to compare it: mostly one or two.

use crate::bits::{Halves, bits, low_mask};
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
    let cell = dispatch.cell(low);
    for candidate in dispatch.lists.get(usize::from(cell.first)..)? {
        let low_differs = (low & candidate.low_mask) ^ candidate.low_value;
        let high_differs = (high & candidate.high_mask) ^ candidate.high_value;
        if low_differs | high_differs == 0 {
            let length = match cell.length {
                0 => length_of(candidate),
                length => length,
            };
            return Some((candidate.form, length));
        }
        if candidate.is_last {
            break;
        }
    }
    None
}

/// The length of an instruction that its cell does not tell.
///
/// A call, not a choice between two values: where the next instruction begins then depends on the cell alone, and the
/// processor goes on to it without waiting for the candidates.
#[cold]
#[inline(never)]
fn length_of(candidate: &Candidate) -> u8 {
    candidate.length
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

/// Bits that tell apart the forms whose instructions begin with the same byte, and their lengths: at most two ranges.
const fn key(family: Family, byte: u8) -> &'static [(u8, u8)] {
    match family {
        Family::G13 => match byte & 0x7f {
            0x00 | 0x20 => &[(14, 15)],
            0x05 | 0x35 | 0x45 => &[(47, 47), (26, 29)],
            0x0a | 0x4a => &[(15, 15), (28, 33)],
            0x0e | 0x1e | 0x4e | 0x5e => &[(15, 15), (27, 27)],
            0x22 | 0x32 => &[(48, 48)],
            0x2e | 0x3e => &[(15, 15), (26, 27)],
            0x42 | 0x52 => &[(9, 10)],
            0x62 => &[(8, 8), (15, 15)],
            0x6f => &[(26, 30), (38, 40)],
            _ => &[(15, 15)],
        },
        Family::G15 => match byte & 7 {
            0 | 1 | 3 => &[(16, 18), (32, 33)],
            2 => &[(16, 17), (32, 34)],
            4 => &[(15, 17), (20, 20)],
            7 => &[(8, 11), (60, 60)],
            _ => &[],
        },
    }
}

/// What decides whether an instruction has a form, side by side in memory. Bits behind its length do not count.
#[derive(Clone, Copy)]
struct Candidate {
    low_value: u64,
    low_mask: u64,
    high_value: u64,
    high_mask: u64,
    form: FormId,
    length: u8,
    /// No other candidate of the cell follows.
    is_last: bool,
}

/// A form at one of its lengths.
type Shape = (FormId, u8);

impl Candidate {
    /// What no instruction is.
    const NONE: Candidate = Candidate {
        low_value: 1,
        low_mask: 0,
        high_value: 1,
        high_mask: 0,
        form: FormId::from_bits(0),
        length: 0,
        is_last: true,
    };

    fn new((form, length): Shape, is_last: bool) -> Candidate {
        let (value, mask) = fixed_bits(form.form(), length).unwrap_or_default();
        let (Halves([low_value, high_value]), Halves([low_mask, high_mask])) =
            (Halves::new(value), Halves::new(mask));
        Candidate {
            low_value,
            low_mask,
            high_value,
            high_mask,
            form,
            length,
            is_last,
        }
    }
}

/// Instructions that begin with the same byte: which of their bits are the key, and where their cells start.
#[derive(Clone, Copy, Default)]
struct Group {
    masks: [u16; 2],
    rotations: [u8; 2],
    first_cell: u16,
}

/// Instructions that begin with the same byte and have the same key.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The first of its candidates in `lists`; the others follow.
    first: u16,
    /// The length of every candidate; 0 if they differ or there is none.
    length: u8,
}

/// How the instructions of a family are recognised: the first byte picks a group, the group's key a cell, and the cell says
/// how long the instruction is and with which forms to compare it.
pub(crate) struct Dispatch {
    groups: [Group; 256],
    cells: Box<[Cell; CELLS]>,
    /// The first is [`Candidate::NONE`].
    lists: Vec<Candidate>,
}

/// More cells than any family has; a power of two, so that an index is cut by a mask.
const CELLS: usize = 2048;

impl Dispatch {
    fn build(family: Family) -> Dispatch {
        let mut dispatch = Dispatch {
            groups: [Group::default(); 256],
            cells: Box::new([Cell::default(); CELLS]),
            lists: vec![Candidate::NONE],
        };
        let shapes: Vec<Shape> = FormId::of(family)
            .flat_map(|id| lengths(id.form()).map(move |length| (id, length)))
            .collect();
        // Many bytes begin the same forms, and many cells have the same candidates: both are kept once.
        let mut cells = 0..CELLS;
        let mut known_groups = HashMap::new();
        let mut known_lists = HashMap::new();
        for byte in 0..=u8::MAX {
            let here = candidates(&shapes, byte.into(), 0xff);
            let ranges = key(family, byte);
            let group = known_groups.entry((here, ranges));
            let group = group.or_insert_with_key(|(here, ranges)| {
                let first_cell = cells.start as u16;
                let key = bits(ranges);
                let covered = 0xff | key.deposit(low_mask(key.width()));
                for value in 0..=low_mask(key.width()) {
                    let word = u128::from(byte) | key.deposit(value);
                    let found = candidates(here, word, covered);
                    let cell = known_lists
                        .entry(found)
                        .or_insert_with_key(|found| dispatch.push(found));
                    if let Some(place) = cells.next() {
                        dispatch.cells[place] = *cell;
                    }
                }
                let [first, second] = key.first_two();
                Group {
                    masks: [first.0 as u16, second.0 as u16],
                    rotations: [first.1, second.1],
                    first_cell,
                }
            });
            dispatch.groups[usize::from(byte)] = *group;
        }
        dispatch
    }

    /// Adds a list of candidates.
    fn push(&mut self, found: &[Shape]) -> Cell {
        let Some((last, others)) = found.split_last() else {
            return Cell::default();
        };
        let first = self.lists.len() as u16;
        let others = others.iter().map(|shape| Candidate::new(*shape, false));
        self.lists.extend(others);
        self.lists.push(Candidate::new(*last, true));
        let is_same = found.iter().all(|(_, length)| *length == last.1);
        Cell {
            first,
            length: if is_same { last.1 } else { 0 },
        }
    }

    #[inline(always)]
    fn cell(&self, low: u64) -> Cell {
        let group = self.groups[usize::from(low as u8)];
        let part = |range: usize| {
            let word = low.rotate_right(u32::from(group.rotations[range]));
            word & u64::from(group.masks[range])
        };
        let cell = u64::from(group.first_cell) + (part(0) | part(1));
        self.cells[cell as usize % CELLS]
    }
}

/// The bits that every instruction of this form and length has, as value and mask, if there can be one.
fn fixed_bits(form: &Form, length: u8) -> Option<(u128, u128)> {
    let mask = form.mask & length_mask(length);
    let choice = if form.short == form.long {
        0
    } else {
        1 << form.length_bit
    };
    let chosen = if length == form.long { choice } else { 0 };
    let is_possible = form.value & !mask == 0 && (form.value ^ chosen) & mask & choice == 0;
    is_possible.then_some((form.value | chosen, mask | choice))
}

/// The lengths of a form, each once.
fn lengths(form: &Form) -> impl Iterator<Item = u8> {
    let long = (form.long != form.short).then_some(form.long);
    std::iter::once(form.short).chain(long)
}

/// The shapes that a word can have of which only the `covered` bits are known, up to one that it certainly has.
fn candidates(shapes: &[Shape], word: u128, covered: u128) -> Vec<Shape> {
    let mut found = Vec::new();
    for shape in shapes {
        let Some((value, mask)) = fixed_bits(shape.0.form(), shape.1) else {
            continue;
        };
        if (word ^ value) & mask & covered == 0 {
            found.push(*shape);
            if mask & !covered == 0 {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;

    #[test]
    fn cells_and_candidates_have_room() {
        for dispatch in [&G13, &G15] {
            assert_eq!(dispatch.cells[CELLS - 1].first, 0);
            assert!(dispatch.lists.len() < usize::from(u16::MAX));
        }
    }

    /// Every form in the table's order, the first whose fixed bits are there.
    fn recognise_slowly(family: Family, word: u128) -> Option<(FormId, u8)> {
        FormId::of(family).find_map(|id| {
            let form = id.form();
            let is_long = word >> form.length_bit & 1 != 0;
            let length = if is_long { form.long } else { form.short };
            let matches = word & length_mask(length) & form.mask == form.value;
            matches.then_some((id, length))
        })
    }

    #[test]
    fn the_first_form_of_the_table_is_found() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        for (family, dispatch) in [(Family::G13, &G13), (Family::G15, &G15)] {
            for id in FormId::of(family) {
                for _ in 0..2000 {
                    let noise = u128::from(next()) << 64 | u128::from(next());
                    // Of the form, of the form but for some bits, and anything.
                    let near = id.form().value | noise & !id.form().mask;
                    let flipped = near ^ 1 << (next() % 128);
                    for word in [near, flipped, noise] {
                        let Halves([low, high]) = Halves::new(word);
                        let found = recognise(dispatch, low, high);
                        assert_eq!(found, recognise_slowly(family, word), "{word:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn cells_tell_the_length_but_of_shuffles_and_matrices() {
        for (family, dispatch) in [(Family::G13, &G13), (Family::G15, &G15)] {
            for cell in dispatch.cells.iter() {
                let list = &dispatch.lists[usize::from(cell.first)..];
                let end = list.iter().position(|candidate| candidate.is_last);
                if cell.length == 0 && cell.first != 0 {
                    let list = &list[..=end.unwrap()];
                    let is_there = |op| list.iter().any(|c| c.form.form().op == op);
                    assert_eq!(family, Family::G13);
                    assert!(is_there(Op::SimdMatrixFmadd32) || is_there(Op::SimdMatrixFmadd16));
                }
            }
        }
    }

    #[test]
    fn an_instruction_value_is_small() {
        // Sixteen bytes of code, and a form, a length and an instruction set in a machine word.
        assert_eq!(size_of::<crate::Instruction>(), 24);
    }
}

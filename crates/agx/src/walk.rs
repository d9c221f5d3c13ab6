//! Walking over code: every byte belongs to an instruction or to an unknown item.

use crate::dispatch::{Dispatch, dispatch};
use crate::instruction::{DecodeError, Instruction, MAX_LENGTH};
use crate::isa::Isa;

/// One step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An instruction.
    Known(Instruction),
    /// The code ends inside this instruction; its missing bytes are read as zero.
    Truncated {
        /// What it would be.
        instruction: Instruction,
        /// How many of its bytes there are.
        available: u8,
    },
    /// A two-byte parcel that begins no known instruction: `.short 0x....`.
    Unknown(u16),
    /// The single byte at the end of code of odd length: `.byte 0x..`.
    Odd(u8),
}

impl Item {
    /// Length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "an item is never empty")]
    pub const fn len(&self) -> usize {
        match self {
            Item::Known(instruction) => instruction.len(),
            Item::Truncated { available, .. } => *available as usize,
            Item::Unknown(_) => 2,
            Item::Odd(_) => 1,
        }
    }

    /// The instruction, when it is a complete one.
    pub const fn known(&self) -> Option<Instruction> {
        match self {
            Item::Known(instruction) => Some(*instruction),
            _ => None,
        }
    }
}

/// An iterator over code: `(offset, item)`.
///
/// After unknown bytes decoding resumes at the next parcel. How many items were
/// unknown is part of the result.
///
/// ```
/// use assay_agx::{walk, Isa, Item};
/// let mut walk = walk(Isa::G13, &[0x38, 0x00, 0xff, 0xff, 0x88, 0x00]);
/// let offsets: Vec<u64> = walk.by_ref().map(|(offset, _)| offset).collect();
/// assert_eq!(offsets, [0, 2, 4]);
/// assert_eq!(walk.unknown(), 1);
/// ```
#[derive(Clone)]
pub struct Walk<'code> {
    isa: Isa,
    dispatch: &'static Dispatch,
    code: &'code [u8],
    offset: usize,
    unknown: u64,
}

/// Walks over `code` from its start.
pub fn walk(isa: Isa, code: &[u8]) -> Walk<'_> {
    Walk {
        isa,
        dispatch: dispatch(isa.family()),
        code,
        offset: 0,
        unknown: 0,
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk")
            .field("isa", &self.isa)
            .field("offset", &self.offset)
            .field("unknown", &self.unknown)
            .finish_non_exhaustive()
    }
}

impl Walk<'_> {
    /// How many items so far were not instructions.
    pub const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Byte offset of the next item.
    pub const fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for Walk<'_> {
    type Item = (u64, Item);

    #[inline(always)]
    fn next(&mut self) -> Option<(u64, Item)> {
        let rest = self.code.get(self.offset..)?;
        let (item, length) = match rest.first_chunk::<MAX_LENGTH>() {
            Some(chunk) => match Instruction::decode_chunk(self.isa, self.dispatch, chunk) {
                Some((instruction, length)) => (Item::Known(instruction), usize::from(length)),
                None => {
                    self.unknown += 1;
                    let parcel = u16::from_le_bytes([chunk[0], chunk[1]]);
                    (Item::Unknown(parcel), size_of_val(&parcel))
                }
            },
            None => {
                let item = last_item(self.isa, rest)?;
                self.unknown += u64::from(item.known().is_none());
                (item, item.len())
            }
        };
        let offset = self.offset as u64;
        self.offset += length;
        Some((offset, item))
    }
}

/// An item near the end of the code.
#[cold]
fn last_item(isa: Isa, rest: &[u8]) -> Option<Item> {
    Some(match (Instruction::decode(isa, rest), rest) {
        (Ok(instruction), _) => Item::Known(instruction),
        (Err(_), []) => return None,
        (Err(DecodeError::Truncated { .. }), _) => truncated(isa, rest),
        (Err(_), [byte]) => Item::Odd(*byte),
        (Err(_), [low, high, ..]) => Item::Unknown(u16::from_le_bytes([*low, *high])),
    })
}

fn truncated(isa: Isa, rest: &[u8]) -> Item {
    let mut padded = [0; MAX_LENGTH];
    for (to, from) in padded.iter_mut().zip(rest) {
        *to = *from;
    }
    match Instruction::decode(isa, &padded) {
        Ok(instruction) => Item::Truncated {
            instruction,
            available: rest.len() as u8,
        },
        Err(_) => Item::Odd(padded[0]),
    }
}

impl std::iter::FusedIterator for Walk<'_> {}

//! Templates for records.

use super::cursor::Cursor;
use crate::error::{Error, Problem};

/// How one operand is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operand {
    /// Not stored: always this number.
    Literal(u64),
    /// This many bits.
    Fixed(u8),
    /// Variable bit rate in chunks of this many bits.
    Vbr(u8),
    /// Six bits for one of `a–z A–Z 0–9 . _`.
    Char6,
    /// A VBR6 count, then that many of the next (last) operand.
    Array,
    /// A VBR6 count, alignment, that many bytes, alignment.
    Blob,
}

/// How all operands of a record are stored, its number first.
#[derive(Clone, Debug, Default)]
pub(super) struct Abbreviation {
    pub(super) operands: Vec<Operand>,
}

/// More operands than any writer puts into a template.
const MAX_OPERANDS: u64 = 256;

/// The characters of [`Operand::Char6`].
pub(super) const CHAR6: &[u8; 64] =
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

impl Abbreviation {
    /// Reads a definition, behind its `DEFINE_ABBREV` id.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let count = cursor.vbr(5)?;
        if count == 0 || count > MAX_OPERANDS {
            return Err(cursor.error(Problem::TooLarge {
                what: "the number of operands of an abbreviation",
                value: count,
                limit: MAX_OPERANDS,
            }));
        }
        let mut operands = Vec::with_capacity(count as usize);
        for index in 0..count {
            let operand = Self::read_operand(cursor)?;
            let left = count - index - 1;
            let misplaced = match operand {
                Operand::Array => left != 1 || index == 0,
                Operand::Blob => left != 0 || index == 0,
                _ => false,
            };
            if misplaced {
                return Err(cursor.error(Problem::Stream(
                    "an abbreviation has an array or a blob in the wrong place",
                )));
            }
            operands.push(operand);
        }
        if operands.len() >= 2 && operands[operands.len() - 2] == Operand::Array {
            let storable = matches!(
                operands.last(),
                Some(Operand::Fixed(1..) | Operand::Vbr(1..) | Operand::Char6)
            );
            if !storable {
                return Err(cursor.error(Problem::Stream("an array of elements without bits")));
            }
        }
        Ok(Abbreviation { operands })
    }

    fn read_operand(cursor: &mut Cursor<'_>) -> Result<Operand, Error> {
        if cursor.fixed(1)? == 1 {
            return Ok(Operand::Literal(cursor.vbr(8)?));
        }
        match cursor.fixed(3)? {
            1 => Self::read_width(cursor, 64).map(Operand::Fixed),
            // A chunk of one bit would have no room for a number.
            2 => match Self::read_width(cursor, 32)? {
                1 => Err(cursor.error(Problem::Stream("a VBR of one bit"))),
                width => Ok(Operand::Vbr(width)),
            },
            3 => Ok(Operand::Array),
            4 => Ok(Operand::Char6),
            5 => Ok(Operand::Blob),
            _ => Err(cursor.error(Problem::Stream("an unknown operand encoding"))),
        }
    }

    fn read_width(cursor: &mut Cursor<'_>, limit: u64) -> Result<u8, Error> {
        let value = cursor.vbr(5)?;
        if value > limit {
            let what = "the width of an operand";
            return Err(cursor.error(Problem::TooLarge { what, value, limit }));
        }
        Ok(value as u8)
    }
}

//! The text of common operands, looked up instead of composed.
//!
//! An arithmetic operand has ten to twelve bits, so all its texts fit in a small table.
//! The tables are filled at first use by the ordinary decoder and printer; they hold no
//! knowledge of their own. Modifiers are not part of a table's index: they are appended.

use crate::kind::Kind;
use crate::line::Line;
use crate::operand::{Modifiers, Operand};
use crate::text::write_operand;
use std::sync::LazyLock;

/// Bytes of text in an entry; the last one of the sixteen is their number.
const TEXT: usize = 15;
/// An entry whose text is longer.
const TOO_LONG: u8 = u8::MAX;

type Entry = [u8; TEXT + 1];

/// Texts of one kind by the bits of its field.
struct Table(Vec<Entry>);

impl Table {
    fn new(kind: Kind, bits: u32) -> Table {
        Table::with_fields(kind, bits, |index| index)
    }

    /// A table whose index is not quite the field.
    fn with_fields(kind: Kind, bits: u32, field: impl Fn(u64) -> u64) -> Table {
        let entry = |index| {
            let mut text = String::new();
            write_operand(&mut Line::new(&mut text), kind.decode(field(index)), None);
            let mut entry = [0; TEXT + 1];
            entry[TEXT] = match entry.get_mut(..text.len().min(TEXT)) {
                Some(place) if text.len() <= TEXT => {
                    place.copy_from_slice(text.as_bytes());
                    text.len() as u8
                }
                _ => TOO_LONG,
            };
            entry
        };
        Table((0..1 << bits).map(entry).collect())
    }

    /// Appends the text at `index`; false when it is not in the table.
    #[inline]
    fn write(&self, line: &mut Line<'_>, index: u64) -> bool {
        match self.0.get(index as usize) {
            Some(entry) if entry[TEXT] != TOO_LONG => {
                line.push_padded(entry, entry[TEXT]);
                true
            }
            _ => false,
        }
    }
}

/// The tables.
pub(crate) struct Memo {
    dst16: Table,
    dst32: Table,
    dst64: Table,
    src32: Table,
    src64: Table,
    float: Table,
    half: Table,
    select: Table,
}

/// The tables, filled at first use.
pub(crate) static MEMO: LazyLock<Memo> = LazyLock::new(|| Memo {
    dst16: Table::new(Kind::Dst16, 10),
    dst32: Table::new(Kind::Dst32, 10),
    dst64: Table::new(Kind::Dst64, 10),
    src32: Table::new(Kind::Src32, 12),
    src64: Table::new(Kind::Src64, 12),
    float: Table::with_fields(Kind::SrcFloat, 12, |index| apart(index, 10, 2)),
    half: Table::with_fields(Kind::SrcHalf, 11, |index| apart(index, 9, 2)),
    select: Table::new(Kind::SrcSelect, 12),
});

/// Opens a gap of `size` zero bits at bit `at`.
fn apart(index: u64, at: u32, size: u32) -> u64 {
    let low = index & ((1 << at) - 1);
    low | (index >> at) << (at + size)
}

/// Closes the gap that [`apart`] opens.
#[inline]
fn together(field: u64, at: u32, size: u32) -> u64 {
    let low = field & ((1 << at) - 1);
    low | (field >> (at + size)) << at
}

impl Memo {
    /// Appends the operand of this kind and field, or does nothing and says so.
    #[inline]
    pub(crate) fn write(&self, line: &mut Line<'_>, kind: Kind, field: u64) -> bool {
        match kind {
            Kind::Dst32 => self.dst32.write(line, field),
            Kind::Src32 => self.src32.write(line, field),
            Kind::SrcFloat => {
                let known = self.float.write(line, together(field, 10, 2));
                known && modifiers(line, kind, field, field >> 10 & 3)
            }
            Kind::SrcAdd | Kind::SrcMul => {
                // The same encoding, but for 64-bit registers and the sign extension.
                let table = match kind {
                    Kind::SrcAdd => &self.src64,
                    _ => &self.src32,
                };
                let known = table.write(line, together(field, 10, 1));
                known && modifiers(line, kind, field, field >> 10 & 1)
            }
            Kind::SrcSelect => self.select.write(line, field),
            Kind::Dst64 => self.dst64.write(line, field),
            Kind::Src64 => self.src64.write(line, field),
            Kind::Dst16 => self.dst16.write(line, field),
            Kind::SrcHalf => {
                let known = self.half.write(line, together(field, 9, 2));
                known && modifiers(line, kind, field, field >> 9 & 3)
            }
            _ => false,
        }
    }
}

/// Appends the modifiers of an operand whose modifier bits are `bits`.
#[inline]
fn modifiers(line: &mut Line<'_>, kind: Kind, field: u64, bits: u64) -> bool {
    if bits != 0 {
        line.modifiers(match kind.decode(field) {
            Operand::Reg(reg) => reg.mods,
            Operand::Uniform(uniform) => uniform.mods,
            Operand::Float(_, mods) => mods,
            _ => Modifiers::NONE,
        });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_equal_the_ordinary_text() {
        let kinds = [
            (Kind::Dst16, 10),
            (Kind::Dst32, 10),
            (Kind::Dst64, 10),
            (Kind::Src32, 12),
            (Kind::Src64, 12),
            (Kind::SrcMul, 13),
            (Kind::SrcAdd, 13),
            (Kind::SrcFloat, 14),
            (Kind::SrcHalf, 13),
            (Kind::SrcSelect, 12),
        ];
        for (kind, bits) in kinds {
            for field in 0..1 << bits {
                let mut looked_up = String::new();
                let known = MEMO.write(&mut Line::new(&mut looked_up), kind, field);
                let mut composed = String::new();
                write_operand(&mut Line::new(&mut composed), kind.decode(field), None);
                assert!(!known || looked_up == composed, "{kind:?} {field:#x}");
            }
        }
    }
}

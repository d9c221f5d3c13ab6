//! FlatBuffers without a schema: tables, followed step by step, every step checked.
//!
//! A table starts with a signed distance back to its vtable; the vtable lists, per
//! field number, how far into the table the field lies, or 0 when it is left out.
//! Without the schema a scalar's width is not stated; [`Table::uint`] takes it from
//! the room before the next field, which is exact up to padding, and padding is 0.

use crate::error::Error;
use crate::view::View;

/// A table inside a FlatBuffer.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    buffer: View<'a>,
    /// Where the table starts.
    at: u64,
    /// Where its vtable starts.
    vtable: u64,
    /// Number of field slots in the vtable.
    slots: u16,
    /// Size of the table's own data.
    size: u16,
}

const WHAT: &str = "a FlatBuffer table";

impl<'a> Table<'a> {
    /// The root table of a buffer.
    pub fn root(buffer: View<'a>) -> Result<Self, Error> {
        let at = buffer.u32(0, "the FlatBuffer root")?;
        Table::at(buffer, at.into())
    }

    fn at(buffer: View<'a>, at: u64) -> Result<Self, Error> {
        let back = i64::from(buffer.u32(at, WHAT)? as i32);
        let vtable = i64::try_from(at)
            .ok()
            .and_then(|at| at.checked_sub(back))
            .and_then(|vtable| u64::try_from(vtable).ok())
            .ok_or_else(|| {
                Error::malformed(buffer.offset(at), "a FlatBuffer vtable before the buffer")
            })?;
        let vtable_size = buffer.u16(vtable, WHAT)?;
        let size = buffer.u16(vtable.saturating_add(2), WHAT)?;
        if vtable_size < 4 || !vtable_size.is_multiple_of(2) || size < 4 {
            return Err(Error::malformed(
                buffer.offset(vtable),
                "a FlatBuffer vtable of impossible size",
            ));
        }
        buffer.slice(vtable, vtable_size.into(), WHAT)?;
        buffer.slice(at, size.into(), WHAT)?;
        Ok(Table {
            buffer,
            at,
            vtable,
            slots: (vtable_size - 4) / 2,
            size,
        })
    }

    /// How far into the table field `number` lies; `None` when it is left out.
    fn place(&self, number: u16) -> Option<u16> {
        if number >= self.slots {
            return None;
        }
        let slot = self.vtable + 4 + 2 * u64::from(number);
        let place = self.buffer.u16(slot, WHAT).ok()?;
        (place >= 4 && place < self.size).then_some(place)
    }

    /// Field `number` as an unsigned number of at most four bytes.
    pub fn uint(&self, number: u16) -> Option<u32> {
        let place = self.place(number)?;
        let next = (0..self.slots)
            .filter_map(|other| self.place(other))
            .filter(|&other| other > place)
            .min()
            .unwrap_or(self.size);
        let at = self.at + u64::from(place);
        match next - place {
            1 => self.buffer.u8(at, WHAT).ok().map(u32::from),
            2 | 3 => self.buffer.u16(at, WHAT).ok().map(u32::from),
            _ => self.buffer.u32(at, WHAT).ok(),
        }
    }

    /// Where the offset in field `number` leads.
    fn target(&self, number: u16) -> Option<u64> {
        let at = self.at + u64::from(self.place(number)?);
        let distance = self.buffer.u32(at, WHAT).ok()?;
        at.checked_add(distance.into())
    }

    /// Field `number` as a table.
    pub fn table(&self, number: u16) -> Option<Table<'a>> {
        Table::at(self.buffer, self.target(number)?).ok()
    }

    /// Field `number` as a vector of tables; tables that cannot be read are left out.
    pub fn tables(&self, number: u16) -> Option<Vec<Table<'a>>> {
        let start = self.target(number)?;
        let count = u64::from(self.buffer.u32(start, WHAT).ok()?);
        let entries = self.buffer.slice(start + 4, count * 4, WHAT).ok()?;
        let mut tables = Vec::new();
        for index in 0..count {
            let distance = u64::from(entries.u32(index * 4, WHAT).ok()?);
            let at = start + 4 + index * 4;
            tables.extend(Table::at(self.buffer, at.saturating_add(distance)).ok());
        }
        Some(tables)
    }
}

/// The strings of a buffer, found by their shape: a length, that many printable
/// characters, a NUL, on a four-byte boundary.
pub fn strings(buffer: View<'_>) -> impl Iterator<Item = &str> {
    let bytes = buffer.bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + 4 < bytes.len() {
            let length = bytes.get(at..)?.first_chunk().copied()?;
            let length = u32::from_le_bytes(length) as usize;
            let start = at + 4;
            at += 4;
            if length == 0 || length > LONGEST_STRING {
                continue;
            }
            let Some((&0, text)) = bytes
                .get(start..)
                .and_then(|rest| rest.get(..length + 1))
                .and_then(<[u8]>::split_last)
            else {
                continue;
            };
            if text.iter().all(|byte| (0x20..0x7F).contains(byte)) {
                at = (start + length + 1).next_multiple_of(4);
                return std::str::from_utf8(text).ok();
            }
        }
        None
    })
}

/// Longer ones are not names.
const LONGEST_STRING: usize = 4096;

//! Attribute groups and lists.

use super::module::ModuleReader;
use super::operands::Operands;
use crate::bitstream::Entry;
use crate::error::Error;
use crate::llvm::attribute::Attributes;
use crate::llvm::types::TypeId;

/// LLVM's number of `align`.
const ALIGN: u64 = 1;

impl ModuleReader<'_> {
    pub(super) fn read_attribute_groups(&mut self) -> Result<(), Error> {
        self.reader.enter()?;
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record if self.record.code == 3 => self.read_attribute_group()?,
                Entry::Record => {}
            }
        }
    }

    fn read_attribute_group(&mut self) -> Result<(), Error> {
        let mut operands = Operands::new(&self.record, "attribute group");
        let group = operands.next()?;
        let slot = operands.next()?;
        let mut attributes = Attributes::default();
        while !operands.is_empty() {
            match operands.next()? {
                0 => attributes.bits |= Attributes::bit_of(operands.next()?),
                1 => {
                    let key = operands.next()?;
                    let value = operands.next()?;
                    attributes.bits |= Attributes::bit_of(key);
                    if key == ALIGN {
                        attributes.align = value.min(1 << 30) as u32;
                    }
                }
                kind @ (3 | 4) => {
                    let key = read_text(&mut operands)?;
                    let value = match kind {
                        4 => read_text(&mut operands)?,
                        _ => String::new(),
                    };
                    attributes.strings.push((key, value));
                }
                kind @ (5 | 6) => {
                    attributes.bits |= Attributes::bit_of(operands.next()?);
                    if kind == 6 {
                        attributes.memory_type = Some(TypeId(operands.next_u32()?));
                    }
                }
                // Ranges of values say nothing this crate uses.
                kind @ (7 | 8) => {
                    operands.next()?;
                    let count = if kind == 8 { operands.next()? } else { 1 };
                    if operands.next()? > 64 {
                        break;
                    }
                    for _ in 0..count {
                        operands.next()?;
                        operands.next()?;
                    }
                }
                _ => break,
            }
        }
        self.module
            .attributes
            .groups
            .push((group, slot, attributes));
        Ok(())
    }

    pub(super) fn read_attribute_lists(&mut self) -> Result<(), Error> {
        self.reader.enter()?;
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record if self.record.code == 2 => {
                    let table = &mut self.module.attributes;
                    let index = |number: &u64| {
                        let position = table.groups.iter().position(|group| group.0 == *number);
                        position.map(|index| index as u32)
                    };
                    let list = self.record.operands.iter().filter_map(index).collect();
                    table.lists.push(list);
                }
                Entry::Record => {}
            }
        }
    }
}

fn read_text(operands: &mut Operands<'_>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    loop {
        match operands.next()? {
            0 => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            character => bytes.push(character as u8),
        }
    }
}

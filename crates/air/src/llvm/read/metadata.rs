//! Metadata of a module or a function, and what is attached to instructions.

use super::module::ModuleReader;
use super::operands::Operands;
use super::record_text;
use crate::bitstream::{Cursor, Entry};
use crate::error::{Error, Problem};
use crate::llvm::metadata::{DebugLocation, Metadata, MetadataId, MetadataPool};
use crate::llvm::module::WHOLE_FUNCTION;
use crate::llvm::value::{Span, ValueId};
use std::borrow::Cow;

mod code {
    pub(super) const STRING_OLD: u32 = 1;
    pub(super) const VALUE: u32 = 2;
    pub(super) const NODE: u32 = 3;
    pub(super) const NAME: u32 = 4;
    pub(super) const DISTINCT_NODE: u32 = 5;
    pub(super) const KIND: u32 = 6;
    pub(super) const LOCATION: u32 = 7;
    pub(super) const NAMED_NODE: u32 = 10;
    pub(super) const FILE: u32 = 16;
    pub(super) const SUBPROGRAM: u32 = 21;
    pub(super) const LEXICAL_BLOCK: u32 = 22;
    pub(super) const LEXICAL_BLOCK_FILE: u32 = 23;
    pub(super) const STRINGS: u32 = 35;
    pub(super) const GLOBAL_DECL_ATTACHMENT: u32 = 36;
    pub(super) const INDEX_OFFSET: u32 = 38;
    pub(super) const INDEX: u32 = 39;
}

/// An id stored plus one, 0 being none.
fn optional(id: u64) -> Option<MetadataId> {
    let id = u32::try_from(id.checked_sub(1)?).ok()?;
    Some(MetadataId(id))
}

impl<'a> ModuleReader<'a> {
    pub(super) fn read_metadata(&mut self, pool: &mut MetadataPool<'a>) -> Result<(), Error> {
        self.reader.enter()?;
        let mut name = String::new();
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record => match self.record.code {
                    code::STRINGS => self.read_strings(pool)?,
                    code::NAME => name = record_text(&self.record.operands),
                    code::NAMED_NODE => {
                        let ids = self.record.operands.iter();
                        let list = ids.map(|&id| MetadataId(id as u32)).collect();
                        pool.named.push((std::mem::take(&mut name), list));
                    }
                    code::KIND => self.read_kind(pool)?,
                    code::GLOBAL_DECL_ATTACHMENT | code::INDEX_OFFSET | code::INDEX => {}
                    _ => {
                        let item = self.read_item(pool)?;
                        pool.items.push(item);
                    }
                },
            }
        }
    }

    fn read_item(&self, pool: &mut MetadataPool<'a>) -> Result<Metadata<'a>, Error> {
        let mut operands = Operands::new(&self.record, "metadata");
        Ok(match self.record.code {
            code::VALUE => {
                operands.next()?;
                Metadata::Value(ValueId(operands.next_u32()?))
            }
            code::NODE | code::DISTINCT_NODE => {
                let start = pool.operands.len() as u32;
                pool.operands
                    .extend(operands.rest().iter().map(|&id| optional(id)));
                Metadata::Node(Span {
                    start,
                    len: operands.len() as u32,
                })
            }
            code::LOCATION => {
                operands.next()?;
                Metadata::Location(DebugLocation {
                    line: operands.next_u32()?,
                    column: operands.next_u32()?,
                    // Not stored plus one: a location always has a scope.
                    scope: Some(MetadataId(operands.next_u32()?)),
                    inlined_at: optional(operands.next_or_zero()),
                })
            }
            code::FILE => {
                operands.next()?;
                Metadata::File {
                    name: optional(operands.next()?),
                    directory: optional(operands.next()?),
                }
            }
            code::SUBPROGRAM => {
                operands.next()?;
                let parent = optional(operands.next()?);
                let name = optional(operands.next()?);
                operands.next()?;
                let file = optional(operands.next()?);
                let line = operands.next()? as u32;
                Metadata::Scope {
                    parent,
                    file,
                    name,
                    line,
                }
            }
            code::LEXICAL_BLOCK | code::LEXICAL_BLOCK_FILE => {
                operands.next()?;
                let parent = optional(operands.next()?);
                let file = optional(operands.next()?);
                let line = match self.record.code {
                    code::LEXICAL_BLOCK => operands.next()? as u32,
                    _ => 0,
                };
                Metadata::Scope {
                    parent,
                    file,
                    name: None,
                    line,
                }
            }
            // Old single strings have their characters as operands; nothing borrows them, and no
            // compiler for Metal kernels with known metadata writes them.
            code::STRING_OLD => Metadata::String(Cow::Borrowed(b"")),
            other => Metadata::Other(other),
        })
    }

    /// All strings in one record: a count, where the characters start, and a blob of VBR6 lengths
    /// followed by the characters.
    fn read_strings(&self, pool: &mut MetadataPool<'a>) -> Result<(), Error> {
        let mut operands = Operands::new(&self.record, "metadata");
        let count = operands.next()?;
        let offset = operands.next()?;
        let blob = self.record.blob;
        let split = usize::try_from(offset).ok().filter(|&at| at <= blob.len());
        let split = split.ok_or_else(|| operands.error("its characters are outside its blob"))?;
        let (lengths, mut characters) = blob.split_at(split);
        // A length takes at least six bits.
        if count > lengths.len() as u64 * 8 / 6 {
            return Err(operands.error("it has fewer lengths than strings"));
        }
        let mut cursor = Cursor::new(lengths);
        pool.items.reserve(count as usize);
        for _ in 0..count {
            let length = cursor.vbr(6).map_err(|error| Error {
                at: crate::BitOffset(self.record.at),
                ..error
            })?;
            if length > characters.len() as u64 {
                return Err(Error::new(
                    self.record.at,
                    Problem::Truncated("a metadata string"),
                ));
            }
            let (string, rest) = characters.split_at(length as usize);
            pool.items.push(Metadata::String(Cow::Borrowed(string)));
            characters = rest;
        }
        Ok(())
    }

    fn read_kind(&self, pool: &mut MetadataPool<'a>) -> Result<(), Error> {
        let mut operands = Operands::new(&self.record, "metadata");
        let number = operands.next_u32()?;
        pool.kinds.push((number, record_text(operands.rest())));
        Ok(())
    }

    pub(super) fn read_metadata_kinds(&mut self, pool: &mut MetadataPool<'a>) -> Result<(), Error> {
        self.reader.enter()?;
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => return Ok(()),
                Entry::Block(_) => self.reader.skip(),
                Entry::Record if self.record.code == code::KIND => self.read_kind(pool)?,
                Entry::Record => {}
            }
        }
    }

    /// Attachments of a function: an odd number of operands names an instruction first.
    pub(super) fn read_attachments(
        &mut self,
        attachments: &mut Vec<(u32, u32, MetadataId)>,
    ) -> Result<(), Error> {
        const ATTACHMENT: u32 = 11;
        self.reader.enter()?;
        loop {
            match self.reader.next(&mut self.record)? {
                Entry::End => break,
                Entry::Block(_) => self.reader.skip(),
                Entry::Record if self.record.code == ATTACHMENT => {
                    let mut operands = Operands::new(&self.record, "metadata attachment");
                    let owner = match operands.len() % 2 {
                        1 => operands.next_u32()?,
                        _ => WHOLE_FUNCTION,
                    };
                    while !operands.is_empty() {
                        let kind = operands.next_u32()?;
                        attachments.push((owner, kind, MetadataId(operands.next_u32()?)));
                    }
                }
                Entry::Record => {}
            }
        }
        if !attachments.is_sorted_by_key(|entry| entry.0) {
            attachments.sort_by_key(|entry| entry.0);
        }
        Ok(())
    }
}

//! From bits to modules: the outermost layer and what all layers share.

mod attributes;
mod body;
mod constants;
mod metadata;
mod module;
mod operands;
mod types;

use super::module::Module;
use crate::bitstream::{Entry, Reader, Record};
use crate::error::{Error, Problem};
use module::ModuleReader;

/// Numbers of the blocks that are read.
mod block {
    pub(super) const MODULE: u32 = 8;
    pub(super) const PARAMATTR: u32 = 9;
    pub(super) const PARAMATTR_GROUP: u32 = 10;
    pub(super) const CONSTANTS: u32 = 11;
    pub(super) const FUNCTION: u32 = 12;
    pub(super) const IDENTIFICATION: u32 = 13;
    pub(super) const VALUE_SYMTAB: u32 = 14;
    pub(super) const METADATA: u32 = 15;
    pub(super) const METADATA_ATTACHMENT: u32 = 16;
    pub(super) const TYPE: u32 = 17;
    pub(super) const METADATA_KIND: u32 = 22;
    pub(super) const STRTAB: u32 = 23;
    pub(super) const SYNC_SCOPE_NAMES: u32 = 26;
}

const MAGIC: u32 = 0xdec0_4342;
const WRAPPER_MAGIC: u32 = 0x0b17_c0de;

/// Reads all modules of a bitcode file, with or without the wrapper header Apple puts before it.
///
/// ```
/// let error = assay_air::llvm::read(b"#include <metal_stdlib>").unwrap_err();
/// assert!(error.to_string().contains("not LLVM bitcode"));
/// ```
pub fn read(bytes: &[u8]) -> Result<Vec<Module<'_>>, Error> {
    let (start, end) = unwrap(bytes)?;
    let mut reader = Reader::new(bytes, start, end);
    let mut record = Record::default();
    let mut producer = String::new();
    // A string table serves all modules before it that have none yet.
    let mut waiting: Vec<(Reader<'_>, String)> = Vec::new();
    let mut modules = Vec::new();
    // A tail shorter than a block header is padding.
    while end.saturating_sub(reader.position()) >= 64 {
        match reader.next(&mut record)? {
            Entry::End => break,
            Entry::Record => {}
            Entry::Block(block::IDENTIFICATION) => {
                reader.enter()?;
                producer = read_identification(&mut reader, &mut record)?;
            }
            Entry::Block(block::MODULE) => {
                waiting.push((reader.clone(), std::mem::take(&mut producer)));
                reader.skip();
            }
            Entry::Block(block::STRTAB) => {
                reader.enter()?;
                let strings = read_strtab(&mut reader, &mut record)?;
                read_modules(&mut waiting, strings, &mut modules)?;
            }
            Entry::Block(_) => reader.skip(),
        }
    }
    read_modules(&mut waiting, &[], &mut modules)?;
    if modules.is_empty() {
        return Err(reader.error(Problem::Truncated("the file, before any module")));
    }
    Ok(modules)
}

/// The first and last bit of the stream, behind magic and wrapper.
fn unwrap(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let word = |offset: usize| -> Result<u32, Error> {
        let four = bytes
            .get(offset..offset + 4)
            .and_then(|four| four.try_into().ok());
        let four = four.ok_or(Error::new(
            bytes.len() as u64 * 8,
            Problem::Truncated("the file header"),
        ))?;
        Ok(u32::from_le_bytes(four))
    };
    let (mut start, mut end) = (0usize, bytes.len());
    if word(0)? == WRAPPER_MAGIC {
        start = word(8)? as usize;
        let stated = start.saturating_add(word(12)? as usize);
        if stated > end || start < 20 {
            let problem = Problem::Truncated("the part the wrapper header names");
            return Err(Error::new(64, problem));
        }
        end = stated;
    }
    let found = word(start)?;
    if found != MAGIC {
        return Err(Error::new(start as u64 * 8, Problem::Magic { found }));
    }
    Ok(((start as u64 + 4) * 8, end as u64 * 8))
}

fn read_modules<'a>(
    waiting: &mut Vec<(Reader<'a>, String)>,
    strings: &'a [u8],
    modules: &mut Vec<Module<'a>>,
) -> Result<(), Error> {
    for (mut reader, producer) in waiting.drain(..) {
        reader.enter()?;
        modules.push(ModuleReader::new(reader, strings, producer).read()?);
    }
    Ok(())
}

fn read_identification<'a>(
    reader: &mut Reader<'a>,
    record: &mut Record<'a>,
) -> Result<String, Error> {
    let mut producer = String::new();
    loop {
        match reader.next(record)? {
            Entry::End => return Ok(producer),
            Entry::Record if record.code == 1 => producer = record_text(&record.operands),
            _ => {}
        }
    }
}

fn read_strtab<'a>(reader: &mut Reader<'a>, record: &mut Record<'a>) -> Result<&'a [u8], Error> {
    let mut strings: &[u8] = &[];
    loop {
        match reader.next(record)? {
            Entry::End => return Ok(strings),
            Entry::Record if record.code == 1 => strings = record.blob,
            _ => {}
        }
    }
}

/// The characters of a record as text.
fn record_text(operands: &[u64]) -> String {
    let bytes: Vec<u8> = operands.iter().map(|&character| character as u8).collect();
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// A power of two stored as its logarithm plus one; 0 is "not said".
fn decode_align(encoded: u64) -> u32 {
    match encoded {
        0 => 0,
        1..=31 => 1 << (encoded - 1),
        _ => 1 << 30,
    }
}

/// A signed number whose lowest bit is its sign.
fn decode_signed(encoded: u64) -> i64 {
    let magnitude = (encoded >> 1) as i64;
    match (encoded & 1, magnitude) {
        (0, magnitude) => magnitude,
        (_, 0) => i64::MIN,
        (_, magnitude) => -magnitude,
    }
}

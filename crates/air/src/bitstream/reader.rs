//! Walks blocks and decodes records.

use super::abbreviation::{Abbreviation, CHAR6, Operand};
use super::cursor::Cursor;
use crate::error::{Error, Problem};

/// What comes next in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// The block ends here, or the stream does.
    End,
    /// A block begins: [`Reader::enter`] or [`Reader::skip`] it.
    Block(u32),
    /// A record, decoded into the [`Record`].
    Record,
}

/// A record: its number and its operands. One is reused for all records.
#[derive(Clone, Debug, Default)]
pub struct Record<'a> {
    /// What kind of record.
    pub code: u32,
    /// The operands, characters included.
    pub operands: Vec<u64>,
    /// The bytes of a blob operand.
    pub blob: &'a [u8],
    /// The bit the record starts at.
    pub at: u64,
}

/// The numbers of abbreviations in a block, as ranges of the arena.
#[derive(Clone, Debug, Default)]
struct Block {
    end: u64,
    width: u32,
    abbreviations: Vec<u32>,
}

/// A reader of one bit stream.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    cursor: Cursor<'a>,
    current: Block,
    outer: Vec<Block>,
    /// All abbreviations ever defined; blocks hold their numbers.
    arena: Vec<Abbreviation>,
    /// Abbreviations for blocks of a kind, from the stream's BLOCKINFO.
    block_info: Vec<(u32, Vec<u32>)>,
    /// Set when a block's header was read and the caller has not decided.
    pending: Option<(u32, Block)>,
}

const END_BLOCK: u64 = 0;
const ENTER_SUBBLOCK: u64 = 1;
const DEFINE_ABBREV: u64 = 2;
const UNABBREV_RECORD: u64 = 3;
const BLOCKINFO: u32 = 0;
const SETBID: u32 = 1;
/// Blocks are nested four deep in bitcode.
const MAX_DEPTH: usize = 16;

impl<'a> Reader<'a> {
    /// A reader of the stream in `bytes` from bit `start` to bit `end`.
    pub fn new(bytes: &'a [u8], start: u64, end: u64) -> Self {
        let mut cursor = Cursor::new(bytes);
        cursor.limit(end);
        cursor.seek(start);
        let end = cursor.end();
        Reader {
            cursor,
            current: Block {
                end,
                width: 2,
                abbreviations: Vec::new(),
            },
            outer: Vec::new(),
            arena: Vec::new(),
            block_info: Vec::new(),
            pending: None,
        }
    }

    /// The bit the reader stands at.
    pub fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// Moves to a bit, at the level of the blocks currently entered.
    pub fn seek(&mut self, position: u64) {
        self.pending = None;
        self.cursor.seek(position);
    }

    /// An error at the current position.
    #[cold]
    pub fn error(&self, problem: Problem) -> Error {
        self.cursor.error(problem)
    }

    /// Reads up to the next block or record of the current block. A block that was announced and
    /// neither entered nor skipped is skipped.
    pub fn next(&mut self, record: &mut Record<'a>) -> Result<Entry, Error> {
        if self.pending.is_some() {
            self.skip();
        }
        loop {
            if self.cursor.position() >= self.current.end {
                if self.outer.is_empty() {
                    return Ok(Entry::End);
                }
                return Err(self.error(Problem::Stream("a block without an end")));
            }
            record.at = self.cursor.position();
            match self.cursor.fixed(self.current.width)? {
                END_BLOCK => {
                    let Some(outer) = self.outer.pop() else {
                        return Err(self.error(Problem::Stream("an end without a block")));
                    };
                    self.cursor.seek(self.current.end);
                    self.cursor.limit(outer.end);
                    self.current = outer;
                    return Ok(Entry::End);
                }
                ENTER_SUBBLOCK => {
                    let id = self.read_block_header()?;
                    if id != BLOCKINFO {
                        return Ok(Entry::Block(id));
                    }
                    self.enter()?;
                    self.read_block_info(record)?;
                }
                DEFINE_ABBREV => {
                    let number = self.define()?;
                    self.current.abbreviations.push(number);
                }
                UNABBREV_RECORD => {
                    self.read_spelled_out(record)?;
                    return Ok(Entry::Record);
                }
                id => {
                    self.read_abbreviated(id - 4, record)?;
                    return Ok(Entry::Record);
                }
            }
        }
    }

    fn read_block_header(&mut self) -> Result<u32, Error> {
        let id = self.cursor.vbr(8)?;
        let width = self.cursor.vbr(4)?;
        self.cursor.align()?;
        let words = self.cursor.fixed(32)?;
        let id = u32::try_from(id)
            .map_err(|_| self.error(Problem::Stream("a block id of more than 32 bits")))?;
        if !(2..=32).contains(&width) {
            return Err(self.error(Problem::Stream("an abbreviation id width outside 2..=32")));
        }
        let end = self.cursor.position() + words * 32;
        if end > self.current.end {
            return Err(self.error(Problem::Truncated("a block")));
        }
        let block = Block {
            end,
            width: width as u32,
            abbreviations: Vec::new(),
        };
        self.pending = Some((id, block));
        Ok(id)
    }

    /// Goes into the block just announced.
    pub fn enter(&mut self) -> Result<(), Error> {
        let Some((id, mut block)) = self.pending.take() else {
            return Err(self.error(Problem::Stream("no block to enter")));
        };
        if self.outer.len() >= MAX_DEPTH {
            return Err(self.error(Problem::Stream("blocks nested too deep")));
        }
        if let Some((_, inherited)) = self.block_info.iter().find(|(kind, _)| *kind == id) {
            block.abbreviations.extend_from_slice(inherited);
        }
        self.cursor.limit(block.end);
        self.outer.push(std::mem::replace(&mut self.current, block));
        Ok(())
    }

    /// Goes past the block just announced.
    pub fn skip(&mut self) {
        if let Some((_, block)) = self.pending.take() {
            self.cursor.seek(block.end);
        }
    }

    /// The first and last bit of the contents of the block just announced.
    pub fn pending_extent(&self) -> Option<(u64, u64)> {
        let (_, block) = self.pending.as_ref()?;
        Some((self.cursor.position(), block.end))
    }

    fn define(&mut self) -> Result<u32, Error> {
        let abbreviation = Abbreviation::read(&mut self.cursor)?;
        self.arena.push(abbreviation);
        Ok(self.arena.len() as u32 - 1)
    }

    fn read_block_info(&mut self, record: &mut Record<'a>) -> Result<(), Error> {
        let mut target: Option<usize> = None;
        loop {
            match self.cursor.fixed(self.current.width)? {
                END_BLOCK => {
                    if let Some(outer) = self.outer.pop() {
                        self.cursor.seek(self.current.end);
                        self.cursor.limit(outer.end);
                        self.current = outer;
                    }
                    return Ok(());
                }
                DEFINE_ABBREV => {
                    let number = self.define()?;
                    let list = target.and_then(|index| self.block_info.get_mut(index));
                    let Some((_, list)) = list else {
                        return Err(self.error(Problem::Stream("BLOCKINFO without SETBID")));
                    };
                    list.push(number);
                }
                UNABBREV_RECORD => {
                    self.read_spelled_out(record)?;
                    if record.code == SETBID {
                        let id = record.operands.first().copied().unwrap_or(u64::MAX) as u32;
                        target = Some(self.block_info_index(id));
                    }
                }
                _ => return Err(self.error(Problem::Stream("an unexpected entry in BLOCKINFO"))),
            }
        }
    }

    fn block_info_index(&mut self, id: u32) -> usize {
        let known = self.block_info.iter().position(|(kind, _)| *kind == id);
        known.unwrap_or_else(|| {
            self.block_info.push((id, Vec::new()));
            self.block_info.len() - 1
        })
    }

    fn read_spelled_out(&mut self, record: &mut Record<'a>) -> Result<(), Error> {
        record.code = self.read_code()?;
        record.blob = &[];
        record.operands.clear();
        let count = self.cursor.vbr(6)?;
        // Every operand takes at least six bits.
        if count > self.cursor.remaining() / 6 {
            return Err(self.error(Problem::Truncated("a record")));
        }
        record.operands.reserve(count as usize);
        for _ in 0..count {
            record.operands.push(self.cursor.vbr(6)?);
        }
        Ok(())
    }

    fn read_code(&mut self) -> Result<u32, Error> {
        let code = self.cursor.vbr(6)?;
        u32::try_from(code).map_err(|_| self.error(Problem::Stream("a record code too large")))
    }

    fn read_abbreviated(&mut self, index: u64, record: &mut Record<'a>) -> Result<(), Error> {
        let number = self.current.abbreviations.get(index as usize).copied();
        let template = number.and_then(|number| self.arena.get(number as usize));
        let Some(template) = template else {
            return Err(self.error(Problem::Stream("a record with an undefined abbreviation")));
        };
        let cursor = &mut self.cursor;
        record.operands.clear();
        record.blob = &[];
        let mut operands = template.operands.iter();
        // The first operand is the number of the record and always a scalar.
        let code = match operands.next() {
            Some(&operand) => read_scalar(cursor, operand)?,
            None => u64::MAX,
        };
        record.code = u32::try_from(code)
            .map_err(|_| cursor.error(Problem::Stream("a record code too large")))?;
        while let Some(&operand) = operands.next() {
            match operand {
                Operand::Array => {
                    let element = operands.next().copied().unwrap_or(Operand::Char6);
                    read_array(cursor, element, &mut record.operands)?;
                }
                Operand::Blob => {
                    let count = cursor.vbr(6)?;
                    cursor.align()?;
                    record.blob = cursor.take_bytes(count)?;
                    cursor.align()?;
                }
                scalar => record.operands.push(read_scalar(cursor, scalar)?),
            }
        }
        Ok(())
    }
}

#[inline]
fn read_scalar(cursor: &mut Cursor<'_>, operand: Operand) -> Result<u64, Error> {
    match operand {
        Operand::Literal(value) => Ok(value),
        Operand::Fixed(width) => cursor.fixed(u32::from(width)),
        Operand::Vbr(0) => Ok(0),
        Operand::Vbr(width) => cursor.vbr(u32::from(width)),
        Operand::Char6 => {
            let index = cursor.fixed(6)? as usize;
            Ok(u64::from(CHAR6[index & 63]))
        }
        Operand::Array | Operand::Blob => Err(cursor.error(Problem::Stream("a nested array"))),
    }
}

fn read_array(cursor: &mut Cursor<'_>, element: Operand, out: &mut Vec<u64>) -> Result<(), Error> {
    let count = cursor.vbr(6)?;
    let least = match element {
        Operand::Fixed(width) | Operand::Vbr(width) => u64::from(width).max(1),
        _ => 6,
    };
    if count > cursor.remaining() / least {
        return Err(cursor.error(Problem::Truncated("an array")));
    }
    out.reserve(count as usize);
    for _ in 0..count {
        out.push(read_scalar(cursor, element)?);
    }
    Ok(())
}

//! Taking the operands of a record one after the other.

use crate::bitstream::Record;
use crate::error::{Error, Problem};

/// The operands of a record that have not been taken yet.
#[derive(Clone, Copy)]
pub(super) struct Operands<'r> {
    rest: &'r [u64],
    block: &'static str,
    code: u32,
    at: u64,
}

impl<'r> Operands<'r> {
    pub(super) fn new(record: &'r Record<'_>, block: &'static str) -> Self {
        Operands {
            rest: &record.operands,
            block,
            code: record.code,
            at: record.at,
        }
    }

    /// An error about this record.
    #[cold]
    pub(super) fn error(&self, what: &'static str) -> Error {
        let (block, code) = (self.block, self.code);
        Error::new(self.at, Problem::Record { block, code, what })
    }

    /// This record is of a kind the reader does not know.
    #[cold]
    pub(super) fn unknown(&self) -> Error {
        let (block, code) = (self.block, self.code);
        Error::new(self.at, Problem::UnknownRecord { block, code })
    }

    /// An id in this record points at nothing.
    #[cold]
    pub(super) fn dangling(&self, what: &'static str, id: u64) -> Error {
        Error::new(self.at, Problem::Dangling { what, id })
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<u64, Error> {
        match self.rest.split_first() {
            Some((&first, rest)) => {
                self.rest = rest;
                Ok(first)
            }
            None => Err(self.error("it has too few operands")),
        }
    }

    #[inline]
    pub(super) fn next_u32(&mut self) -> Result<u32, Error> {
        let value = self.next()?;
        u32::try_from(value).map_err(|_| self.error("a number in it does not fit 32 bits"))
    }

    /// The next operand, or zero where an older writer wrote none.
    #[inline]
    pub(super) fn next_or_zero(&mut self) -> u64 {
        self.next_or(0)
    }

    #[inline]
    pub(super) fn next_or(&mut self, default: u64) -> u64 {
        match self.rest.split_first() {
            Some((&first, rest)) => {
                self.rest = rest;
                first
            }
            None => default,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The operands that are left.
    #[inline]
    pub(super) fn rest(&self) -> &'r [u64] {
        self.rest
    }
}

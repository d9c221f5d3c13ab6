//! Regions that a dispatch writes, with their contents before it.

use super::screen_marks::Marks;
use crate::code::{Op, Program};
use crate::matrix::MatrixOp;

/// A region that is written.
pub(super) struct Written {
    pub(super) marks: Marks,
    /// What was in it before the dispatch.
    pub(super) before: Vec<u8>,
}

impl Program {
    /// For each operation that writes memory the register of its pointer, and the bytes of the numbers it writes.
    pub(super) fn writes(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.ops.iter().filter_map(|op| match *op {
            Op::Store { transfer } => {
                let transfer = self.transfers.get(transfer as usize)?;
                Some((transfer.base, transfer.cell.bytes()))
            }
            Op::MemCopy { dst, .. } | Op::MemSet { dst, .. } => Some((dst, 1)),
            Op::BulkCopy { index } => {
                let copy = self.copies.get(index as usize)?;
                Some((self.list(copy.args).first()?.index, copy.unit()))
            }
            Op::Matrix { index } => match self.matrices.get(index as usize)? {
                MatrixOp::Store { scalar, at, .. } => Some((at.ptr, scalar.bytes())),
                _ => None,
            },
            Op::Atomic { ptr, cell, .. } | Op::CompareExchange { ptr, cell, .. } => {
                Some((ptr, cell.bytes()))
            }
            _ => None,
        })
    }
}

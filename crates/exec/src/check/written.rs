//! What a dispatch may write, and how to undo it.

use super::marks::Marks;
use crate::code::{Op, Program};
use crate::matrix::MatrixOp;
use crate::memory::Region;

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

/// The bytes of a region. Nothing else may run.
pub(super) fn bytes_of(region: &Region) -> &[u8] {
    if region.base.is_null() {
        return &[];
    }
    // SAFETY: a region has that many bytes, and only this thread accesses them between threadgroups.
    unsafe { std::slice::from_raw_parts(region.base, region.len as usize) }
}

pub(super) fn put_back(region: &Region, before: &[u8]) {
    if region.writable && before.len() as u64 == region.len {
        // SAFETY: as above, and it is writable.
        unsafe { std::ptr::copy_nonoverlapping(before.as_ptr(), region.base, before.len()) };
    }
}

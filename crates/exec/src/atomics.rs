//! What an atomic read-modify-write computes.

use crate::code::Cell;
use assay_num::{int, single};
use assay_ssa::AtomicOp;

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Update(pub(crate) AtomicOp);

impl Update {
    /// Returns true if the final contents of memory depend on the order of several of these.
    pub(crate) fn depends_on_order(self) -> bool {
        matches!(self.0, AtomicOp::Exchange | AtomicOp::FAdd | AtomicOp::FSub)
    }

    /// The new number.
    pub(crate) fn apply(self, cell: Cell, old: u64, value: u64) -> u64 {
        let bits = cell.bytes() * 8;
        let float = |f: fn(f32, f32) -> f32| {
            let (old, value) = (f32::from_bits(old as u32), f32::from_bits(value as u32));
            u64::from(f(old, value).to_bits())
        };
        let less = |signed| int::compare(old, value, bits, signed) < 0;
        let pick = |first| if first { old } else { value };
        let result = match self.0 {
            AtomicOp::Add => old.wrapping_add(value),
            AtomicOp::Sub => old.wrapping_sub(value),
            AtomicOp::SMin => pick(less(true)),
            AtomicOp::SMax => pick(!less(true)),
            AtomicOp::UMin => pick(less(false)),
            AtomicOp::UMax => pick(!less(false)),
            AtomicOp::And => old & value,
            AtomicOp::Or => old | value,
            AtomicOp::Xor => old ^ value,
            AtomicOp::Exchange => value,
            AtomicOp::FAdd => float(single::add),
            AtomicOp::FSub => float(single::sub),
            AtomicOp::FMin => float(single::min),
            AtomicOp::FMax => float(single::max),
        };
        result & int::mask(bits)
    }
}

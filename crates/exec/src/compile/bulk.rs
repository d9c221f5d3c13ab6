//! Bulk copies by a simdgroup: `simdgroup_async_copy`.
//!
//! Not documented by Apple; the arguments are those of its compiler's builtins. Of a row: bytes of an element and their alignment,
//! where to, where from, how many. Of a tile: those two, where to, elements per row, 1, (width, height), where from,
//! elements per row, 1, (width, height), the (column, row) of the source to begin with, and what elements outside
//! the source are: 0 for zeros, 1 for those at its edge.

use super::{Compiler, Done};
use crate::code::{BulkCopy, Op};
use assay_ssa::Value;
use assay_ssa::builtin::{Builtin, BuiltinCall};

/// The largest element, in bytes.
const MAX_SIZE: u64 = 64;

impl Compiler<'_> {
    pub(super) fn bulk_copy(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        let number = |at: usize| {
            let arg = args.get(at).copied()?;
            self.function.const_bits(arg)
        };
        let tiled = call.builtin == Builtin::AsyncCopy2d;
        let (size, align) = (number(0), number(1));
        let ones = !tiled || [4, 8].map(number) == [Some(1); 2];
        let to_edge = if tiled { number(11) } else { Some(0) };
        let (Some(size @ 1..=MAX_SIZE), Some(align @ 1..=MAX_SIZE), true, Some(to_edge @ 0..=1)) =
            (size, align, ones, to_edge)
        else {
            return self.unsupported(format!("builtin {call} of this kind"));
        };
        let places: &[usize] = match tiled {
            true => &[2, 3, 5, 6, 7, 9, 10],
            false => &[2, 3, 4],
        };
        let mut regs = Vec::new();
        for arg in places.iter().filter_map(|&at| args.get(at).copied()) {
            regs.extend(self.regs(arg)?);
        }
        let expected = if tiled { 10 } else { 3 };
        if regs.len() != expected || regs.iter().any(|reg| !reg.wide) || !align.is_power_of_two() {
            return self.unsupported(format!("builtin {call} of this kind"));
        }
        let args = self.list(&regs);
        self.program.copies.push(BulkCopy {
            args,
            size: size as u32,
            align: align as u32,
            to_edge: to_edge == 1,
        });
        let index = self.program.copies.len() as u32 - 1;
        self.emit(Op::BulkCopy { index });
        if let Some(result) = result {
            // Only the wait uses an event.
            let event = self.constant(true, 1);
            self.name(result, &[event]);
        }
        Ok(())
    }
}

//! Single operations for machine code: what it has no code of its own for.

use super::addresses::Addresses;
use super::observer::NoObserver;
use super::transfer::Access;
use super::{Batch, ExecutionContext, Trap};
use crate::code::{Op, Transfer};
use crate::error::FaultKind;
use crate::lanes::Lanes;
use crate::memory::Action;

impl Batch {
    /// Prepares a batch of one simdgroup whose registers another writes and reads: all hold their numbers. Returns where the
    /// narrow and the wide ones begin.
    pub(crate) fn hold_all(&mut self) -> (*mut u8, *mut u8) {
        self.registers.materialise_all();
        let (narrow, wide) = (&mut self.registers.narrow, &mut self.registers.wide);
        (narrow.start().cast(), wide.start().cast())
    }

    /// Runs one operation of a batch of one simdgroup, with these lanes active.
    pub(crate) fn run_one(
        &mut self,
        context: &ExecutionContext<'_>,
        position: usize,
        mask: u32,
    ) -> Result<(), Trap> {
        let program = context.program;
        let Some(op) = program.ops.get(position) else {
            return Ok(());
        };
        let mut lanes = [0; super::MAX_SIMDGROUPS];
        lanes[0] = mask;
        self.masks.set(lanes);
        self.progress.current = 0;
        // SAFETY of the calls below: the functions are the variants for the program's level; all registers of a verified program
        // exist, for the one simdgroup of the batch.
        macro_rules! call {
            ($f:ident, $ptr:ident, $file:ident, $d:ident, $($operands:ident $x:ident),+) => {{
                $(let $x = Lanes::each(self.registers.$operands.ptr($x, 0));)+
                let d = self.registers.$file.$ptr($d, 0);
                // SAFETY: see above.
                unsafe { $f(d, $($x,)+ 1) };
            }};
        }
        match *op {
            Op::N1 { f, d, a } => call!(f, ptr_mut, narrow, d, narrow a),
            Op::N2 { f, d, a, b, .. } => call!(f, ptr_mut, narrow, d, narrow a, narrow b),
            Op::N3 { f, d, a, b, c } => {
                call!(f, ptr_mut, narrow, d, narrow a, narrow b, narrow c);
            }
            Op::W1 { f, d, a } => call!(f, ptr_mut, wide, d, wide a),
            Op::W2 { f, d, a, b, .. } => call!(f, ptr_mut, wide, d, wide a, wide b),
            Op::Widen { f, d, a, .. } => call!(f, ptr_mut, wide, d, narrow a),
            Op::Narrowing { f, d, a, .. } => call!(f, ptr_mut, narrow, d, wide a),
            Op::Compare { f, d, a, b, .. } => call!(f, ptr_mut, narrow, d, wide a, wide b),
            Op::Load { transfer } | Op::Store { transfer } => {
                let transfer = &program.transfers[transfer as usize];
                let action = match op {
                    Op::Load { .. } => Action::Read,
                    _ => Action::Write,
                };
                let addresses = self.addresses_of(transfer);
                let access = Access {
                    transfer,
                    action,
                    position,
                };
                let addresses = Addresses::Pointers(&addresses, 0);
                self.transfer_per_lane(context, access, &addresses, mask)?;
            }
            Op::Unreachable => return Err(self.trap(FaultKind::Unreachable, position)),
            ref op => self.cold_operation(context, &mut NoObserver, op, position)?,
        }
        Ok(())
    }

    fn addresses_of(&self, t: &Transfer) -> [u64; 32] {
        let base = self.wide(t.base);
        std::array::from_fn(|lane| {
            let index = t.index.map_or(0, |scaled| {
                let number = self.narrow(scaled.reg)[lane];
                let number = match scaled.signed {
                    true => number as i32 as u64,
                    false => u64::from(number),
                };
                number.wrapping_mul(scaled.scale.into())
            });
            base[lane].wrapping_add(index).wrapping_add(t.offset)
        })
    }
}

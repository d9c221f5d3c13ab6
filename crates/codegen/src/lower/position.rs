//! Positions and sizes.

use super::operand::Src;
use super::select::{Done, Lowerer};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Op, Operand as Fixed, Width};
use assay_ssa::Value;
use assay_ssa::builtin::Builtin;

impl Lowerer<'_> {
    pub(super) fn special_register(&mut self, dest: Slice, number: u8) {
        let inst = Inst::new(Op::GetSr)
            .with(Field::Dest, Operand::Def(dest))
            .with(
                Field::SpecialRegister,
                Operand::Fixed(Fixed::Special(number)),
            );
        self.push(inst);
    }

    pub(super) fn position(&mut self, builtin: Builtin, result: Value) -> Done<bool> {
        for (lane, dest) in self.needed(result) {
            if dest.width == Width::W64 {
                return self.unsupported("a 64-bit position");
            }
            let axis = lane.min(2) as u8;
            let number = match builtin {
                Builtin::ThreadPositionInGrid => 80 + axis,
                Builtin::ThreadPositionInThreadgroup => 48 + axis,
                Builtin::ThreadIndexInThreadgroup => 51,
                Builtin::ThreadIndexInSimdgroup => 52,
                Builtin::SimdgroupIndexInThreadgroup => 53,
                Builtin::ThreadgroupPositionInGrid => axis,
                Builtin::ThreadsPerThreadgroup => 4 + axis,
                _ => {
                    if !self.derived_position(builtin, lane, dest) {
                        return Ok(false);
                    }
                    continue;
                }
            };
            self.special_register(dest, number);
        }
        Ok(true)
    }

    pub(super) fn derived_position(&mut self, builtin: Builtin, lane: u32, dest: Slice) -> bool {
        let by = |amount: u64| Src::Const(amount, Width::W16);
        let first = self.temp(dest.width);
        match builtin {
            Builtin::ThreadIndexInQuadgroup => {
                self.special_register(first, 52);
                self.mask_into(dest, Src::Reg(first), 3);
            }
            Builtin::QuadgroupIndexInThreadgroup => {
                self.special_register(first, 51);
                self.shr_into(dest, Src::Reg(first), by(2));
            }
            Builtin::SimdgroupsPerThreadgroup
            | Builtin::QuadgroupsPerThreadgroup
            | Builtin::DispatchSimdgroupsPerThreadgroup
            | Builtin::DispatchQuadgroupsPerThreadgroup => {
                if lane > 0 {
                    self.copy(dest, Src::Const(1, dest.width));
                    return true;
                }
                let of_dispatch = matches!(
                    builtin,
                    Builtin::DispatchSimdgroupsPerThreadgroup
                        | Builtin::DispatchQuadgroupsPerThreadgroup
                );
                let simd = matches!(
                    builtin,
                    Builtin::SimdgroupsPerThreadgroup | Builtin::DispatchSimdgroupsPerThreadgroup
                );
                let start = if of_dispatch { 8 } else { 4 };
                let sizes: Vec<Slice> = (0..3)
                    .map(|axis| {
                        let size = self.temp(Width::W32);
                        self.special_register(size, start + axis);
                        size
                    })
                    .collect();
                let zero = Src::Const(0, Width::W32);
                let area = self.temp(Width::W32);
                self.mul_add_into(area, Src::Reg(sizes[0]), Src::Reg(sizes[1]), zero);
                // Rounded up.
                let unit: u64 = if simd { 32 } else { 4 };
                let more = Src::Const(unit - 1, Width::W32);
                let threads = self.temp(Width::W32);
                self.mul_add_into(threads, Src::Reg(area), Src::Reg(sizes[2]), more);
                self.shr_into(dest, Src::Reg(threads), by(unit.trailing_zeros().into()));
            }
            _ => return false,
        }
        true
    }
}

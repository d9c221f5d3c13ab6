//! Positions and sizes.

use super::operand::Src;
use super::select::{Done, Lowerer};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Family, Field, Op, Operand as Fixed, SpecialRegister, SystemValue, Width};
use assay_ssa::Value;
use assay_ssa::builtin::Builtin;

impl Lowerer<'_> {
    pub(super) fn special_register(&mut self, dest: Slice, number: u8) {
        let register = SpecialRegister::new(Family::G13, number);
        let inst = Inst::new(Op::GetSr)
            .with(Field::Dest, Operand::Def(dest))
            .with(
                Field::SpecialRegister,
                Operand::Fixed(Fixed::Special(register)),
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
                    if !self.derived_position(builtin, lane, dest)? {
                        return Ok(false);
                    }
                    continue;
                }
            };
            self.special_register(dest, number);
        }
        Ok(true)
    }

    fn derived_position(&mut self, builtin: Builtin, lane: u32, dest: Slice) -> Done<bool> {
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
                    return Ok(true);
                }
                let simd = matches!(
                    builtin,
                    Builtin::SimdgroupsPerThreadgroup | Builtin::DispatchSimdgroupsPerThreadgroup
                );
                let [width, height, depth] = match builtin {
                    Builtin::SimdgroupsPerThreadgroup | Builtin::QuadgroupsPerThreadgroup => {
                        self.threadgroup_size()
                    }
                    _ => self.dispatch_threadgroup_size()?,
                };
                let zero = Src::Const(0, Width::W32);
                let area = self.temp(Width::W32);
                self.mul_add_into(area, width, height, zero);
                // Rounded up.
                let unit: u64 = if simd { 32 } else { 4 };
                let more = Src::Const(unit - 1, Width::W32);
                let threads = self.temp(Width::W32);
                self.mul_add_into(threads, Src::Reg(area), depth, more);
                self.shr_into(dest, Src::Reg(threads), by(unit.trailing_zeros().into()));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The size of the thread's own threadgroup.
    fn threadgroup_size(&mut self) -> [Src; 3] {
        [4, 5, 6].map(|number| {
            let size = self.temp(Width::W32);
            self.special_register(size, number);
            Src::Reg(size)
        })
    }

    /// The size of threadgroups as dispatched. From uniforms, as it may be the constant
    /// program that asks: that one is in no threadgroup.
    fn dispatch_threadgroup_size(&mut self) -> Done<[Src; 3]> {
        let mut sizes = [Src::Const(1, Width::W32); 3];
        for (axis, size) in sizes.iter_mut().enumerate() {
            let found = self
                .layout
                .system(SystemValue::ThreadsPerThreadgroup, axis as u8);
            match found {
                Some(half) => *size = Src::Uniform(half, Width::W32),
                None => return self.unsupported("more arguments than uniforms hold"),
            }
        }
        Ok(sizes)
    }
}

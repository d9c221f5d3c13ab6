//! Loads, stores and atomics of G15.

use super::{ATOMIC_SLOT, G15};
use crate::lower::memory::base;
use crate::lower::operand::{Lowered, Problem, STRANGE, register};
use crate::op::{ATOMIC, Access, Atomic, Base, Index, Operation, Part, Source};
use assay_agx::{AtomicOp, Field, Format, Op, Operand, Reg, Width};

impl G15<'_, '_> {
    pub(super) fn memory(&mut self) -> Lowered<Operation> {
        let slot = self.insn.slot().unwrap_or(0);
        match self.insn.op() {
            Op::DeviceLoad => Ok(Operation::DeviceLoad {
                access: self.access()?,
                slot,
            }),
            Op::DeviceStore => Ok(Operation::DeviceStore {
                access: self.access()?,
            }),
            Op::ThreadgroupLoad => Ok(Operation::GroupLoad {
                access: self.access()?,
                slot: Some(slot),
            }),
            Op::ThreadgroupStore => Ok(Operation::GroupStore {
                access: self.access()?,
            }),
            Op::ThreadgroupAtomic => Ok(Operation::GroupAtomic {
                atomic: self.group_atomic()?,
                slot: Some(slot),
            }),
            Op::Atomic => Ok(Operation::DeviceAtomic {
                atomic: self.atomic()?,
                slot: ATOMIC_SLOT,
            }),
            _ => Ok(Operation::MoveLater {
                to: self.to()?,
                a: Source {
                    row: u16::from(ATOMIC),
                    part: Part::Whole,
                },
                slot,
            }),
        }
    }

    pub(super) fn access(&mut self) -> Lowered<Access> {
        let insn = self.insn;
        let Some(Operand::Reg(data)) = insn.get(Field::Data) else {
            return Err(STRANGE);
        };
        let mask = insn.mask().unwrap_or(0);
        let (format, mask) = match (insn.format(), mask) {
            // Bytes that share a half register are loaded as that half.
            (Some(Format::I8), 0b0001) => (Format::I8, 1),
            (Some(Format::I8), 0b0011) => (Format::I16, 1),
            (Some(Format::I8), 0b1111) => (Format::I16, 0b11),
            (Some(format @ (Format::I16 | Format::I32)), mask) => (format, mask),
            _ => return Err(Problem::Unsupported("this memory format is not understood")),
        };
        let wide = data.width == Width::W32;
        if data.half + data.halves() > 256 || wide && data.half % 2 != 0 {
            return Err(Problem::Unsupported(
                "its data registers are outside the register file",
            ));
        }
        Ok(Access {
            base: self.base()?,
            index: self.index()?,
            scale: 1 << insn.get_int(Field::Shift).unwrap_or(0).clamp(0, 31),
            offset: insn.get_int(Field::Offset).unwrap_or(0) as i32,
            format,
            mask,
            half: data.half as u8,
            wide,
        })
    }

    pub(super) fn base(&self) -> Lowered<Base> {
        match self.get(Field::Base) {
            Some(operand) => base(operand, self.operands),
            None => Ok(Base::Fixed(0)),
        }
    }

    pub(super) fn index(&self) -> Lowered<Index> {
        match self.get(Field::Index) {
            Some(Operand::Imm(value)) => Ok(Index::Fixed(value as i32)),
            Some(Operand::Uniform(uniform)) => {
                let value = self.operands.uniform(uniform)? as u32;
                Ok(Index::Fixed(match (uniform.width, uniform.mods.sx) {
                    (Width::W16, true) => i32::from(value as u16 as i16),
                    _ => value as i32,
                }))
            }
            Some(Operand::Reg(reg)) => {
                let source = register(Reg { count: 1, ..reg }, reg.mods.sx)?;
                Ok(match reg.mods.sx {
                    true => Index::Signed(source),
                    false => Index::Unsigned(source),
                })
            }
            _ => Err(Problem::Unsupported("its index is not understood")),
        }
    }

    fn atomic_op(&self) -> Lowered<AtomicOp> {
        self.insn
            .atomic_op()
            .filter(|op| !matches!(op, AtomicOp::Unknown(_)))
            .ok_or(Problem::Unsupported("this atomic is not understood"))
    }

    /// The first of the registers an atomic combines with memory: of a pair, the new value comes first.
    fn atomic_value(&self) -> Lowered<u8> {
        let Some(Operand::Reg(value)) = self.get(Field::Value) else {
            return Err(STRANGE);
        };
        Ok(register(Reg::word(value.half / 2), false)?.row as u8)
    }

    /// Programs show atomics at the start of threadgroup memory only.
    fn group_atomic(&mut self) -> Lowered<Atomic> {
        if self.insn.get_int(Field::U3) != Some(0) {
            return Err(Problem::Unsupported(
                "where its address is encoded is not known",
            ));
        }
        let Some(Operand::Reg(result)) = self.get(Field::Dest) else {
            return Err(STRANGE);
        };
        Ok(Atomic {
            base: Base::Fixed(0),
            index: Index::Fixed(0),
            op: self.atomic_op()?,
            value: self.atomic_value()?,
            result: Some(register(Reg::word(result.half / 2), false)?.row as u8),
        })
    }

    pub(super) fn atomic(&mut self) -> Lowered<Atomic> {
        let op = self.atomic_op()?;
        let value = self.atomic_value()?;
        let offset = self.insn.get_int(Field::Offset).unwrap_or(0);
        let base = match self.base()? {
            Base::Fixed(address) => Base::Fixed(address.wrapping_add_signed(offset)),
            base if offset == 0 => base,
            _ => return Err(STRANGE),
        };
        Ok(Atomic {
            base,
            index: self.index()?,
            op,
            value,
            // Only if the value found is wanted.
            result: (self.insn.get_int(Field::U0) == Some(1)).then_some(ATOMIC),
        })
    }
}

//! Loads, stores, atomics.

use super::operand::{Lowered, Operands, Problem, register};
use crate::op::{Access, Atomic, Base, Index, Operation, Source};
use crate::touch::{Touch, Touches};
use assay_agx::{AccessKind, Format, Instruction, MemoryAccess, Op, Operand, Reg, Space, Width};

/// The micro-operation of a memory instruction; `None` for other classes.
pub(super) fn lower(insn: &Instruction, operands: &mut Operands<'_>) -> Lowered<Option<Operation>> {
    if insn.op() == Op::StackAdjust {
        return stack_adjust(insn).map(Some);
    }
    let Some(memory) = insn.memory() else {
        return Ok(None);
    };
    let slot = memory.slot.unwrap_or(0);
    let kind = memory.kind;
    Ok(Some(match (memory.space, kind) {
        (Space::Device, AccessKind::Load) => Operation::DeviceLoad {
            access: access(&memory, operands)?,
            slot,
        },
        (Space::Device, AccessKind::Store) => Operation::DeviceStore {
            access: access(&memory, operands)?,
        },
        (Space::Device, AccessKind::Atomic(_)) => Operation::DeviceAtomic {
            atomic: atomic(&memory, operands)?,
            slot,
        },
        (Space::Threadgroup, AccessKind::Load) => Operation::GroupLoad {
            access: access(&memory, operands)?,
            slot: None,
        },
        (Space::Threadgroup, AccessKind::Store) => Operation::GroupStore {
            access: access(&memory, operands)?,
        },
        (Space::Threadgroup, AccessKind::Atomic(_)) => Operation::GroupAtomic {
            atomic: atomic(&memory, operands)?,
            slot: None,
        },
        (Space::Stack, AccessKind::Load) => Operation::StackLoad {
            access: access(&memory, operands)?,
            slot,
        },
        (Space::Stack, AccessKind::Store) => Operation::StackStore {
            access: access(&memory, operands)?,
        },
        (Space::Uniform, AccessKind::Store) => Operation::UniformStore {
            access: access(&memory, operands)?,
        },
        (Space::Threadgroup, _) => {
            return Err(Problem::Unsupported(
                "asynchronous copies are not understood",
            ));
        }
        _ => {
            return Err(Problem::Unsupported(
                "textures, images and tiles are not emulated",
            ));
        }
    }))
}

fn access(memory: &MemoryAccess, operands: &Operands<'_>) -> Lowered<Access> {
    let format = memory
        .format
        .filter(|format| !matches!(format, Format::Unknown(_)))
        .ok_or(Problem::Unsupported("this memory format is not understood"))?;
    let data = memory
        .data
        .ok_or(Problem::Unsupported("this access has no data registers"))?;
    let wide = data.width != Width::W16;
    if format == Format::I32 && !wide {
        return Err(Problem::Unsupported(
            "32-bit elements do not fit 16-bit registers",
        ));
    }
    let components = components(format, memory.mask);
    let end = data.half + components * data.width.halves();
    if end > 256 || (wide && data.half % 2 != 0) {
        return Err(Problem::Unsupported(
            "its data registers are outside the register file",
        ));
    }
    Ok(Access {
        base: base(memory.base, operands)?,
        index: index(memory)?,
        scale: scale(memory, format),
        offset: 0,
        format,
        mask: memory.mask,
        half: data.half as u8,
        wide,
    })
}

/// Bytes from one index to the next; for uniforms, halves.
fn scale(memory: &MemoryAccess, format: Format) -> u32 {
    let element = crate::format::element_bytes(format) as u32;
    match memory.space {
        Space::Threadgroup => element,
        Space::Stack | Space::Uniform => 1 << memory.shift.min(31),
        // A shift of three acts like two, and packed formats have none.
        _ if format.is_packed() => element,
        _ => element << memory.shift.min(2),
    }
}

/// How many registers move: packed formats ignore the mask.
fn components(format: Format, mask: u8) -> u16 {
    match format {
        Format::Rgb10A2 => 4,
        format if format.is_packed() => 3,
        _ => mask.count_ones() as u16,
    }
}

/// Packed formats touch registers the instruction's mask does not tell of.
pub(super) fn correct_touches(insn: &Instruction, touches: &mut Touches) {
    let Some(memory) = insn.memory() else {
        return;
    };
    let (Some(format), Some(data)) = (memory.format, memory.data) else {
        return;
    };
    if !format.is_packed() {
        return;
    }
    let halves = components(format, memory.mask) * data.width.halves();
    let mut add = |touch| match memory.kind {
        AccessKind::Load => touches.write(touch),
        // Reads come first in the list, and a store writes nothing.
        _ => touches.read(touch),
    };
    for half in (data.half + data.halves())..(data.half + halves).min(256) {
        add(Touch {
            row: (half / 2) as u8,
            halves: 1 << (half % 2),
        });
    }
}

pub(super) fn base(operand: Operand, operands: &Operands<'_>) -> Lowered<Base> {
    match operand {
        Operand::Imm(value) => Ok(Base::Fixed(value as u64)),
        Operand::Uniform(uniform) => Ok(Base::Fixed(operands.uniform(uniform)?)),
        Operand::Reg(reg) if reg.width == Width::W16 => Ok(Base::Half(register(reg, false)?)),
        Operand::Reg(reg) if reg.width == Width::W64 => {
            Ok(Base::Pair(register(reg, false)?.row as u8))
        }
        Operand::Empty | Operand::None => Ok(Base::Fixed(0)),
        _ => Err(Problem::Unsupported("its base is not understood")),
    }
}

fn index(memory: &MemoryAccess) -> Lowered<Index> {
    match memory.index {
        Operand::Imm(value) => Ok(Index::Fixed(value as i32)),
        Operand::Reg(reg) => {
            let source = register(Reg { count: 1, ..reg }, false)?;
            // A 16-bit index of threadgroup memory has no sign flag; addresses there
            // are 16 bits and wrap, so its sign does not matter.
            Ok(match memory.index_unsigned || reg.width == Width::W16 {
                true => Index::Unsigned(source),
                false => Index::Signed(source),
            })
        }
        Operand::Empty | Operand::None => Ok(Index::Fixed(0)),
        _ => Err(Problem::Unsupported("its index is not understood")),
    }
}

fn atomic(memory: &MemoryAccess, operands: &Operands<'_>) -> Lowered<Atomic> {
    let AccessKind::Atomic(op) = memory.kind else {
        return Err(Problem::Unsupported("not an atomic"));
    };
    let row = |reg: Reg| -> Lowered<u8> {
        let Source { row, .. } = register(
            Reg {
                count: 1,
                width: Width::W32,
                ..reg
            },
            false,
        )?;
        Ok(row as u8)
    };
    if let assay_agx::AtomicOp::Unknown(_) = op {
        return Err(Problem::Unsupported("this atomic is not understood"));
    }
    let value = memory
        .value
        .ok_or(Problem::Unsupported("this atomic has no value"))?;
    if value.half + value.halves() > 256 {
        return Err(Problem::Unsupported(
            "its value is outside the register file",
        ));
    }
    Ok(Atomic {
        base: base(memory.base, operands)?,
        index: index(memory)?,
        op,
        value: row(value)?,
        result: match memory.data {
            Some(reg) if reg.count > 0 => Some(row(reg)?),
            _ => None,
        },
    })
}

fn stack_adjust(insn: &Instruction) -> Lowered<Operation> {
    let amount = insn
        .get(assay_agx::Field::Index)
        .or_else(|| insn.get(assay_agx::Field::Imm))
        .and_then(Operand::imm);
    match amount.map(i32::try_from) {
        Some(Ok(dwords)) => Ok(Operation::StackAdjust { dwords }),
        _ => Err(Problem::Unsupported(
            "a stack adjustment by a register is not understood",
        )),
    }
}

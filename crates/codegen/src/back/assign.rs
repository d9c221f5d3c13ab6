//! Puts the chosen registers into the instructions.

use super::allocate::Allocation;
use super::copies::{Copy, Source, sequentialise};
use super::machine::{Code, Machine};
use crate::ErrorKind;
use crate::mir::{Function, Inst, Opcode, Operand, Slice};
use assay_agx::{Operand as Fixed, Reg};

/// Rewrites every instruction over half registers.
pub(crate) fn assign(function: &Function, allocation: &Allocation) -> Result<Code, ErrorKind> {
    let blocks = function.blocks.as_slice();
    let mut code = Code::with_capacity(blocks.len());
    for block in blocks {
        let mut out = Vec::with_capacity(block.insts.len());
        for inst in &block.insts {
            match inst.opcode {
                Opcode::ParallelCopy => {
                    let copies = copies(inst, allocation)?;
                    out.extend(sequentialise(&copies, inst.loc));
                }
                Opcode::Undefined => {}
                Opcode::Machine { .. } | Opcode::Placeholder(_) => {
                    out.extend(machine(inst, allocation)?)
                }
            }
        }
        code.push(out);
    }
    Ok(code)
}

fn register(slice: Slice, allocation: &Allocation) -> Result<Reg, ErrorKind> {
    let base = allocation
        .place(slice.reg)
        .ok_or_else(|| ErrorKind::Internal(format!("{} has no register", slice.reg)))?;
    let reg = Reg::half(base + u16::from(slice.half)).times(slice.count);
    Ok(Reg {
        width: slice.width,
        ..reg
    })
}

fn machine(inst: &Inst, allocation: &Allocation) -> Result<Option<Machine>, ErrorKind> {
    let Some(mut out) = Machine::of(inst.opcode, inst.loc) else {
        return Ok(None);
    };
    for &(field, operand) in &inst.operands {
        out = match operand {
            Operand::Use(slice, mods) => {
                out.reading(field, register(slice, allocation)?.mods(mods))
            }
            Operand::Def(slice) => out.writing(field, register(slice, allocation)?),
            Operand::Uniform(uniform) => out.with(field, Fixed::Uniform(uniform)),
            Operand::Fixed(fixed) => out.with(field, fixed),
            Operand::Block(block) => Machine {
                target: Some(block),
                ..out
            },
        };
    }
    Ok(Some(out))
}

fn copies(inst: &Inst, allocation: &Allocation) -> Result<Vec<Copy>, ErrorKind> {
    let broken = || ErrorKind::Internal("a parallel copy has an odd operand".to_owned());
    let mut copies = Vec::with_capacity(inst.operands.len() / 2);
    for pair in inst.operands.chunks(2) {
        let [(_, Operand::Def(to)), (_, from)] = pair else {
            return Err(broken());
        };
        let from = match *from {
            Operand::Use(slice, _) => Source::Reg(register(slice, allocation)?.half),
            Operand::Uniform(uniform) => Source::Uniform(uniform.half),
            Operand::Fixed(Fixed::Imm(value)) => Source::Imm(value as u64),
            _ => return Err(broken()),
        };
        copies.push(Copy {
            to: register(*to, allocation)?.half,
            from,
            halves: u16::from(to.halves()),
        });
    }
    Ok(copies)
}

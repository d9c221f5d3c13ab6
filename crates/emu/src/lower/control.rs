//! Jumps, calls, the execution-mask stack, waits and barriers.

use super::alu::{compared, condition};
use super::operand::{Lowered, Operands, Problem, register};
use crate::op::{NOWHERE, Operation};
use assay_agx::{Field, Instruction, Op, Operand};

/// The micro-operation of a control instruction at byte `offset`; `None` for other
/// classes. Targets are byte offsets still; [`super::resolve`] makes them indices.
pub(super) fn lower(
    insn: &Instruction,
    offset: u32,
    operands: &mut Operands<'_>,
) -> Lowered<Option<Operation>> {
    let levels = insn.nest().unwrap_or(0);
    let to = i64::from(offset) + i64::from(insn.branch_distance().unwrap_or(0));
    let back = offset.saturating_add(insn.len() as u32);
    let target = NOWHERE;
    Ok(Some(match insn.op() {
        Op::IfIcmp | Op::IfFcmp => Operation::If {
            condition: condition(insn)?,
            compared: compared(insn, operands)?,
            levels,
        },
        Op::ElseIcmp | Op::ElseFcmp => Operation::Else {
            condition: condition(insn)?,
            compared: compared(insn, operands)?,
            levels,
        },
        Op::WhileIcmp | Op::WhileFcmp => Operation::While {
            condition: condition(insn)?,
            compared: compared(insn, operands)?,
            levels,
        },
        Op::PopExec => Operation::Pop { levels },
        Op::JmpExecAny => Operation::JumpIfAny { target, to },
        Op::JmpExecNone => Operation::JumpIfNone { target, to },
        Op::Call => Operation::Call { target, to, back },
        Op::CallReg => Operation::CallIndirect {
            row: address_row(insn)?,
            back,
        },
        Op::Ret => Operation::Return {
            row: address_row(insn)?,
        },
        Op::Stop => Operation::Stop,
        Op::Trap => Operation::Trap,
        Op::Wait => Operation::Wait {
            slot: insn.slot().unwrap_or(0),
        },
        Op::ThreadgroupBarrier => Operation::Barrier,
        Op::MemoryBarrier => Operation::Nothing,
        _ => return Ok(None),
    }))
}

fn address_row(insn: &Instruction) -> Lowered<u8> {
    match insn.get(Field::Address) {
        Some(Operand::Reg(reg)) => Ok(register(reg, false)?.row as u8),
        _ => Err(Problem::Unsupported("its address is not a register")),
    }
}

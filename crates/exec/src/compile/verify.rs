//! Verifies bytecode once, when it is compiled.
//!
//! The interpreter accesses registers without bounds checks, and mostly writes a result while it holds references to the
//! operands. Both are sound because of what is checked here and because a program never changes.

use super::coalesce::may_write_operand;
use crate::code::{Op, Program};
use crate::operands::{Role, for_each_register};

/// Checks that all registers, slots and jump targets exist, and that only operations that may write what they read.
pub(super) fn verify(program: &Program) -> Result<(), &'static str> {
    let outside = "an operation names a register, slot or target that does not exist";
    for op in &program.ops {
        let mut reads = Vec::new();
        let mut sound = true;
        for_each_register(program, op, &mut |reg, role| {
            let len = if reg.wide {
                program.wide
            } else {
                program.narrow
            };
            sound &= reg.index < len;
            match role {
                Role::Reads => reads.push(reg),
                // Moves happen one after the other, and each is looked at by itself.
                Role::Writes if matches!(op, Op::Moves { .. }) => {}
                Role::Writes => sound &= may_write_operand(op) || !reads.contains(&reg),
            }
        })?;
        if !sound || !control_exists(program, op) {
            return Err(outside);
        }
    }
    match program.ops.last() {
        Some(Op::End) => Ok(()),
        _ => Err("a program without an end"),
    }
}

fn control_exists(program: &Program, op: &Op) -> bool {
    let target_exists = |target: u32| (target as usize) < program.ops.len();
    match *op {
        Op::If { slot, target, .. } | Op::Else { slot, target } => {
            slot + 1 < program.slots && target_exists(target)
        }
        Op::EndIf { slot } => slot + 1 < program.slots,
        Op::LoopEnd { slot, target } => slot < program.slots && target_exists(target),
        Op::ScopeBegin { slot }
        | Op::ScopeEnd { slot }
        | Op::EndThen { slot }
        | Op::Leave { slot } => slot < program.slots,
        Op::SkipIfNone { target } => target_exists(target),
        _ => true,
    }
}

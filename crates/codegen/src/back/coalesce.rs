//! Lets copies disappear by giving both sides one place.
//!
//! Copies in inner loops come first: when two stand against each other, the one that
//! runs more often wins.

use super::groups::Groups;
use crate::mir::{Function, Opcode, Operand};

/// Joins the two sides of every copy where their lives allow it.
pub(crate) fn coalesce(function: &Function, groups: &mut Groups) {
    let mut copies = Vec::new();
    for block in function.blocks.as_slice() {
        let insts = block.insts.iter();
        for inst in insts.filter(|inst| inst.opcode == Opcode::ParallelCopy) {
            for pair in inst.operands.chunks(2) {
                if let [(_, Operand::Def(to)), (_, Operand::Use(from, _))] = pair {
                    copies.push((block.loop_depth, *to, *from));
                }
            }
        }
    }
    copies.sort_by_key(|(depth, to, _)| std::cmp::Reverse((*depth, to.halves())));
    for (_, to, from) in copies {
        groups.join((to.reg, to.half), (from.reg, from.half));
    }
}

//! Basic blocks of the bytecode, which are counted as a whole.

use crate::class::Class;
use crate::code::{Op, Program};

/// Operations that follow each other and run with the same lanes: counted when the first of them runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BasicBlock {
    pub(super) first: u32,
    pub(super) end: u32,
    /// Operations that are no bookkeeping.
    pub(super) instructions: u64,
    pub(super) runs: u64,
    pub(super) lanes: u64,
}

/// Marks an operation that begins no basic block.
pub(super) const WITHIN: u32 = u32::MAX;

/// The basic blocks of a program, and for each operation the one that begins with it. Operations that change the mask, wait or
/// jump end a block; a jump target begins one.
pub(super) fn basic_blocks(program: &Program) -> (Vec<BasicBlock>, Vec<u32>) {
    let mut jumped_to = vec![false; program.ops.len() + 1];
    for op in &program.ops {
        let target = match *op {
            // Lanes that took the first arm of an if may go on behind its end.
            Op::Else { target, .. } => {
                jumped_to[target as usize] = true;
                target + 1
            }
            Op::If { target, .. } | Op::LoopEnd { target, .. } | Op::SkipIfNone { target } => {
                target
            }
            _ => continue,
        };
        jumped_to[target as usize] = true;
    }
    let mut basic_blocks: Vec<BasicBlock> = Vec::new();
    let mut begins = vec![WITHIN; program.ops.len()];
    let mut goes_on = false;
    for (position, op) in program.ops.iter().enumerate() {
        let class = program.class(position);
        if !goes_on || jumped_to[position] {
            begins[position] = basic_blocks.len() as u32;
            basic_blocks.push(BasicBlock {
                first: position as u32,
                ..BasicBlock::default()
            });
        }
        if let Some(basic_block) = basic_blocks.last_mut() {
            basic_block.end = position as u32 + 1;
            basic_block.instructions += u64::from(class != Class::Bookkeeping);
        }
        goes_on = !op.is_control();
    }
    (basic_blocks, begins)
}

//! Operations that are counted together.

use crate::class::Class;
use crate::code::{Op, Program};

/// Operations that follow each other and run with the same lanes: counted when the first of them runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch {
    pub(super) first: u32,
    pub(super) end: u32,
    /// Those that are no bookkeeping.
    pub(super) instructions: u64,
    pub(super) runs: u64,
    pub(super) lanes: u64,
}

/// Marks an operation that begins no stretch.
pub(super) const WITHIN: u32 = u32::MAX;

/// The stretches of a program, and for each operation the one that begins with it. Whatever changes the mask, waits or is
/// jumped to bounds them.
pub(super) fn stretches(program: &Program) -> (Vec<Stretch>, Vec<u32>) {
    let mut jumped_to = vec![false; program.ops.len() + 1];
    for op in &program.ops {
        let target = match *op {
            // Who takes the first arm of an if may go on behind its end.
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
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut begins = vec![WITHIN; program.ops.len()];
    let mut goes_on = false;
    for (position, op) in program.ops.iter().enumerate() {
        let class = program.class(position);
        if !goes_on || jumped_to[position] {
            begins[position] = stretches.len() as u32;
            stretches.push(Stretch {
                first: position as u32,
                ..Stretch::default()
            });
        }
        if let Some(stretch) = stretches.last_mut() {
            stretch.end = position as u32 + 1;
            stretch.instructions += u64::from(class != Class::Bookkeeping);
        }
        goes_on = !op.is_control();
    }
    (stretches, begins)
}

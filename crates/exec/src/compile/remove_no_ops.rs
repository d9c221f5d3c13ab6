//! Removes operations that do nothing.
//!
//! Once parameters share registers with what is passed to them, moves are left that move nothing, and with them skips that
//! skip nothing: in a short loop as many as there are real operations.

use crate::code::{Op, Program};

/// Removes moves of nothing and skips over nothing.
pub(super) fn remove_no_ops(program: &mut Program) {
    // The last one goes first: it may be all that one before it skips.
    let mut kept = vec![true; program.ops.len()];
    for position in (0..program.ops.len()).rev() {
        let idle = match program.ops[position] {
            Op::Moves { list, .. } => list.len == 0,
            Op::SkipIfNone { target } => {
                let skipped = kept.get(position + 1..target as usize);
                skipped.is_some_and(|skipped| !skipped.contains(&true))
            }
            _ => false,
        };
        kept[position] = !idle;
    }
    let mut places = Vec::with_capacity(kept.len());
    let mut left = 0u32;
    for &keep in &kept {
        places.push(left);
        left += u32::from(keep);
    }
    for op in &mut program.ops {
        if let Op::If { target, .. }
        | Op::Else { target, .. }
        | Op::LoopEnd { target, .. }
        | Op::SkipIfNone { target } = op
            && let Some(&place) = places.get(*target as usize)
        {
            *target = place;
        }
    }
    retain(&mut program.ops, &kept);
    retain(&mut program.origins, &kept);
    retain(&mut program.classes, &kept);
    retain(&mut program.flops, &kept);
}

fn retain<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next() != Some(&false));
}

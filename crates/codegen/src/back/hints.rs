//! Tells the register cache what is read again and what is not.
//!
//! A discard gives a register up in all lanes. A lane that is masked off here has its
//! own future: it waits to go on at some later block, and what that block reads must
//! stay. So besides what the active lanes need, every block has a set of registers that
//! *parked* lanes need.

use super::machine::{Code, Machine};
use crate::mir::Function;
use assay_agx::{Field, Hint, Op, Operand, Reg, RegSet};
use assay_ssa::id::Id;
use std::ops::Range;

/// Reads at most so many instructions later count as soon.
const SOON: u32 = 16;

/// Sets the hints of all operands that can have one.
pub(crate) fn set_hints(code: &mut Code, function: &Function) {
    let live_in = solve(code, function);
    let parked = parked(code, function, &live_in);
    for (index, block) in code.iter_mut().enumerate() {
        let mut live = live_out(function, &live_in, index);
        let keep = parked.get(index).copied().unwrap_or_default();
        let mut next = [u32::MAX; 256];
        for (at, inst) in block.iter_mut().enumerate().rev() {
            let at = at as u32;
            hint(inst, &live.union(keep), &next, at);
            live = live.difference(inst.writes).union(inst.reads);
            let reads_soon = inst.takes_hints();
            for half in inst.writes.iter() {
                if let Some(next) = next.get_mut(usize::from(half)) {
                    *next = u32::MAX;
                }
            }
            for half in inst.reads.iter() {
                if let Some(next) = next.get_mut(usize::from(half)) {
                    *next = if reads_soon { at } else { u32::MAX };
                }
            }
        }
    }
}

impl Machine {
    /// Whether its operands say whether they are read again: arithmetic does.
    fn takes_hints(&self) -> bool {
        !self.is_asynchronous()
            && self.placeholder.is_none()
            && !matches!(
                self.op,
                Op::ThreadgroupLoad
                    | Op::ThreadgroupStore
                    | Op::ThreadgroupAtomic
                    | Op::UniformStore
                    | Op::StackAdjust
                    | Op::StackGetPtr
                    | Op::ImageWrite
                    | Op::ImageWriteBlock
                    | Op::AsyncLoad
                    | Op::AsyncStore
            )
    }
}

/// Sets the hints of one instruction. `needed` is what anybody needs after it.
fn hint(inst: &mut Machine, needed: &RegSet, next: &[u32; 256], at: u32) {
    if !inst.takes_hints() {
        return;
    }
    let soon = |reg: Reg| {
        reg.half_range().any(|half| {
            let next = next.get(usize::from(half)).copied().unwrap_or(u32::MAX);
            next.saturating_sub(at) <= SOON
        })
    };
    let (reads, writes) = (inst.reads, inst.writes);
    // A register that is read twice is given up by its last operand only.
    let mut given_up = RegSet::EMPTY;
    for (field, operand) in inst.operands.iter_mut().rev() {
        let Operand::Reg(reg) = operand else { continue };
        let named: RegSet = reg.half_range().collect();
        match field {
            Field::Dest if writes.intersects(&named) && soon(*reg) => reg.hint = Hint::Cache,
            Field::A | Field::B | Field::C | Field::X | Field::Y if reads.intersects(&named) => {
                let last = !needed.intersects(&named) && !given_up.intersects(&named);
                let rewritten = writes.intersects(&named);
                if last {
                    reg.hint = Hint::Discard;
                    given_up = given_up.union(named);
                } else if !rewritten && soon(*reg) {
                    reg.hint = Hint::Cache;
                }
            }
            _ => {}
        }
    }
}

/// What a lane needs at the start of every block.
fn solve(code: &Code, function: &Function) -> Vec<RegSet> {
    let effects: Vec<(RegSet, RegSet)> = code
        .iter()
        .map(|block| {
            let (mut used, mut defined) = (RegSet::EMPTY, RegSet::EMPTY);
            for inst in block.iter().rev() {
                used = used.difference(inst.writes).union(inst.reads);
                defined = defined.union(inst.writes);
            }
            (used, defined)
        })
        .collect();
    let mut live_in: Vec<RegSet> = effects.iter().map(|(used, _)| *used).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (index, (used, defined)) in effects.iter().enumerate().rev() {
            let out = live_out(function, &live_in, index);
            let new = out.difference(*defined).union(*used);
            if let Some(live) = live_in.get_mut(index).filter(|live| **live != new) {
                *live = new;
                changed = true;
            }
        }
    }
    live_in
}

fn live_out(function: &Function, live_in: &[RegSet], block: usize) -> RegSet {
    let successors = function
        .blocks
        .as_slice()
        .get(block)
        .map_or(&[][..], |block| block.successors.as_slice());
    successors
        .iter()
        .filter_map(|successor| live_in.get(successor.index()))
        .fold(RegSet::EMPTY, |all, live| all.union(*live))
}

/// What lanes that are masked off while a block runs need later.
fn parked(code: &Code, function: &Function, live_in: &[RegSet]) -> Vec<RegSet> {
    let jumps: Vec<(usize, usize)> = code
        .iter()
        .enumerate()
        .flat_map(|(from, block)| {
            let targets = block.iter().filter_map(|inst| inst.target);
            targets.map(move |to| (from, to.index()))
        })
        .filter(|(from, to)| to <= from)
        .collect();
    let mut parked = vec![RegSet::EMPTY; code.len()];
    for (from, block) in function.blocks.as_slice().iter().enumerate() {
        for to in block.successors.iter().map(|to| to.index()) {
            let run = while_waiting(from, to, &jumps, code.len());
            let Some(needed) = live_in.get(to) else {
                continue;
            };
            for parked in parked.get_mut(run).into_iter().flatten() {
                *parked = parked.union(*needed);
            }
        }
    }
    parked
}

/// The blocks that can run between a lane's leaving one block and its going on in
/// another; `jumps` are those that go back, `blocks` is how many blocks there are.
fn while_waiting(from: usize, to: usize, jumps: &[(usize, usize)], blocks: usize) -> Range<usize> {
    let back = to <= from;
    let end = match back {
        // To a loop's start: until the last jump there.
        true => {
            let there = jumps.iter().filter(|(_, head)| *head == to);
            let last = there.map(|(end, _)| end + 1).max();
            last.unwrap_or(blocks).max(from + 1)
        }
        false => to,
    };
    // And round every loop that is not left before then.
    let mut start = from + 1;
    let mut grown = true;
    while grown {
        grown = false;
        for &(jump, head) in jumps {
            let inside = jump < end && (jump >= start || jump == from);
            if inside && head < start && !(back && head == to) {
                start = head;
                grown = true;
            }
        }
    }
    start..end.min(blocks)
}

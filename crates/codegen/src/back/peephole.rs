//! Removes what turned out to do nothing once registers are known.

use super::machine::{Code, Machine};
use assay_agx::{Field, Op, Operand};
use assay_ssa::id::Id;

/// Removes jumps to what follows anyway, and levels of the mask with nothing inside.
pub(crate) fn clean(code: &mut Code) {
    for _ in 0..4 {
        let jumps = remove_idle_jumps(code);
        if !remove_empty_levels(code) && !jumps {
            break;
        }
    }
}

fn remove_idle_jumps(code: &mut Code) -> bool {
    let empty: Vec<bool> = code.iter().map(Vec::is_empty).collect();
    let mut changed = false;
    for (index, block) in code.iter_mut().enumerate() {
        while let Some(target) = block.last().and_then(|inst| inst.target) {
            let between = empty.get(index + 1..target.index().max(index + 1));
            let idle = target.index() > index
                && between.is_some_and(|blocks| blocks.iter().all(|empty| *empty));
            if !idle {
                break;
            }
            block.pop();
            changed = true;
        }
    }
    changed
}

/// `if` directly followed by a `pop_exec` of as many levels.
fn remove_empty_levels(code: &mut Code) -> bool {
    let targets: Vec<usize> = code
        .iter()
        .flatten()
        .filter_map(|inst| inst.target)
        .map(Id::index)
        .collect();
    let mut changed = false;
    for index in 0..code.len() {
        let Some(opener) = code.get(index).and_then(|block| block.last()) else {
            continue;
        };
        let levels = nest(opener);
        if !matches!(opener.op, Op::IfIcmp | Op::IfFcmp) || levels.is_none_or(|n| n < 1) {
            continue;
        }
        let next = (index + 1..code.len()).find(|at| code.get(*at).is_some_and(|b| !b.is_empty()));
        let Some(next) = next else { continue };
        let entered = (index + 1..=next).any(|at| targets.contains(&at));
        let closer = code.get(next).and_then(|block| block.first());
        let closes = closer.is_some_and(|inst| inst.op == Op::PopExec && nest(inst) == levels);
        if closes && !entered {
            if let Some(block) = code.get_mut(next) {
                block.remove(0);
            }
            if let Some(block) = code.get_mut(index) {
                block.pop();
            }
            changed = true;
        }
    }
    changed
}

fn nest(inst: &Machine) -> Option<i64> {
    inst.operands
        .iter()
        .find_map(|(field, operand)| match (field, operand) {
            (Field::Nest, Operand::Imm(levels)) => Some(*levels),
            _ => None,
        })
}

//! Uses what a branch has decided: behind the arm where a condition holds, it is true.

use assay_ssa::analysis::{Cfg, Dominators};
use assay_ssa::{Block, Function, InstData, Module, Value};

/// Replaces conditions by constants where a branch has decided them.
pub(super) fn imply_conditions(_: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let mut decided: Vec<(Block, Value, bool)> = Vec::new();
    for &block in cfg.order() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = *function.inst(terminator)
        else {
            continue;
        };
        for (arm, holds) in [(then.block, true), (otherwise.block, false)] {
            let only = cfg.predecessors(arm).len() == 1 && then.block != otherwise.block;
            if only && !function.is_constant(cond) {
                decided.push((arm, cond, holds));
            }
        }
    }
    let mut changed = false;
    for &(arm, cond, holds) in &decided {
        let constant = function.bool(holds);
        for &block in cfg.order() {
            if !dominators.dominates(arm, block) {
                continue;
            }
            for inst in function.insts(block).to_vec() {
                function.map_operands(inst, |value| {
                    if value == cond {
                        changed = true;
                        constant
                    } else {
                        value
                    }
                });
            }
        }
    }
    changed
}

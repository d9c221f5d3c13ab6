//! Ways that end in `unreachable` are taken out.
//!
//! No program may go there, so a branch of which one side surely ends there always goes the other way. Its test need not be
//! made, and no lane comes from there to what follows without the values that this expects.

use assay_opt::{remove_dead::remove_dead, simplify_cfg::simplify_cfg};
use assay_ssa::analysis::Cfg;
use assay_ssa::{Block, Function, IdSet, InstData, Module};

/// The function without such ways; nothing if it has none.
pub(super) fn without(module: &Module, function: &Function) -> Option<Function> {
    let cfg = Cfg::new(function);
    let ends_as = |wanted: fn(&InstData) -> bool| {
        let ends = move |block: &Block| {
            let terminator = function.terminator(*block);
            terminator.is_some_and(|inst| wanted(function.inst(inst)))
        };
        cfg.order().iter().copied().filter(ends)
    };
    // Blocks all of whose ways end in `unreachable`.
    let mut impossible: IdSet<Block> = IdSet::new();
    let mut work: Vec<Block> = ends_as(|data| matches!(data, InstData::Unreachable)).collect();
    if work.is_empty() {
        return None;
    }
    while let Some(block) = work.pop() {
        if impossible.insert(block) {
            let all = |from: &&Block| {
                cfg.successors(**from)
                    .iter()
                    .all(|&to| impossible.contains(to))
            };
            work.extend(cfg.predecessors(block).iter().filter(all));
        }
    }
    // Blocks with a way to the end: a loop that others cannot leave does not become one without an end.
    let mut ending: IdSet<Block> = IdSet::new();
    let mut work: Vec<Block> = ends_as(|data| matches!(data, InstData::Return { .. })).collect();
    while let Some(block) = work.pop() {
        if ending.insert(block) {
            work.extend_from_slice(cfg.predecessors(block));
        }
    }
    let mut function = function.clone();
    for &block in cfg.order() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        let target = match *function.inst(terminator) {
            InstData::Branch {
                then, otherwise, ..
            } => match (
                impossible.contains(then.block),
                impossible.contains(otherwise.block),
            ) {
                (false, true) if ending.contains(then.block) => then,
                (true, false) if ending.contains(otherwise.block) => otherwise,
                _ => continue,
            },
            InstData::Unreachable => {
                *function.inst_mut(terminator) = InstData::Return { value: None };
                continue;
            }
            _ => continue,
        };
        *function.inst_mut(terminator) = InstData::Jump { target };
    }
    simplify_cfg(module, &mut function);
    remove_dead(module, &mut function);
    simplify_cfg(module, &mut function);
    Some(function)
}

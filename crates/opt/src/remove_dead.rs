//! Removes what nobody needs: instructions, and block parameters with their arguments.
//!
//! Needed is what writes memory or ends a block, what such an instruction uses, and so
//! on. A branch argument is needed only if the parameter it feeds is, so counters that
//! only feed themselves disappear.

use assay_ssa::analysis::Cfg;
use assay_ssa::{Block, BlockCall, Function, IdSet, Inst, InstData, Module, Value, ValueDef};

/// Removes dead instructions and parameters.
pub fn remove_dead(_: &Module, function: &mut Function) -> bool {
    let needed = Needed::new(function);
    let mut changed = remove_instructions(function, &needed);
    changed |= remove_params(function, &needed);
    changed
}

struct Needed {
    insts: IdSet<Inst>,
    params: IdSet<Value>,
}

impl Needed {
    fn new(function: &Function) -> Self {
        let cfg = Cfg::new(function);
        let mut needed = Needed {
            insts: IdSet::new(),
            params: IdSet::new(),
        };
        let mut work: Vec<Value> = Vec::new();
        for &block in function.blocks() {
            for &inst in function.insts(block) {
                if function.effects(inst).must_stay() && needed.insts.insert(inst) {
                    own_operands(function, inst, &mut work);
                }
            }
        }
        while let Some(value) = work.pop() {
            match function.def(value) {
                ValueDef::Result(inst) if needed.insts.insert(inst) => {
                    own_operands(function, inst, &mut work);
                }
                ValueDef::Param(block, position) if needed.params.insert(value) => {
                    arguments(function, &cfg, block, position as usize, &mut work);
                }
                _ => {}
            }
        }
        needed
    }
}

/// The operands of an instruction, arguments of branches excepted.
fn own_operands(function: &Function, inst: Inst, work: &mut Vec<Value>) {
    match *function.inst(inst) {
        InstData::Jump { .. } => {}
        InstData::Branch { cond, .. } => work.push(cond),
        InstData::Switch { value, .. } => work.push(value),
        _ => function.for_each_operand(inst, |value| work.push(value)),
    }
}

/// What the predecessors of a block pass for one of its parameters.
fn arguments(function: &Function, cfg: &Cfg, block: Block, position: usize, work: &mut Vec<Value>) {
    for &pred in cfg.predecessors(block) {
        let Some(terminator) = function.terminator(pred) else {
            continue;
        };
        function.for_each_target(terminator, |call| {
            if call.block == block {
                work.extend(function.list_values(call.args).get(position));
            }
        });
    }
}

fn remove_instructions(function: &mut Function, needed: &Needed) -> bool {
    let mut changed = false;
    for position in 0..function.blocks().len() {
        let block = function.blocks()[position];
        let mut insts = function.take_insts(block);
        let before = insts.len();
        insts.retain(|&inst| needed.insts.contains(inst));
        changed |= insts.len() != before;
        function.set_insts(block, insts);
    }
    changed
}

fn remove_params(function: &mut Function, needed: &Needed) -> bool {
    let entry = function.entry();
    let is_dead = |function: &Function, block: Block, position: usize| {
        Some(block) != entry && !needed.params.contains(function.params(block)[position])
    };
    let any_dead = |function: &Function, block: Block| {
        (0..function.params(block).len()).any(|position| is_dead(function, block, position))
    };
    let blocks = function.blocks().to_vec();
    let shrinking: IdSet<Block> = {
        let mut set = IdSet::new();
        blocks
            .iter()
            .filter(|&&block| any_dead(function, block))
            .for_each(|&block| {
                set.insert(block);
            });
        set
    };
    if shrinking.is_empty() {
        return false;
    }
    for &block in &blocks {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        function.map_targets(terminator, |function, call| {
            if !shrinking.contains(call.block) {
                return call;
            }
            let args = function.list_values(call.args);
            let kept: Vec<Value> = (0..args.len())
                .filter(|&position| !is_dead(function, call.block, position))
                .map(|position| args[position])
                .collect();
            BlockCall {
                block: call.block,
                args: function.list(&kept),
            }
        });
    }
    for block in shrinking.iter().collect::<Vec<_>>() {
        function.retain_params(block, |_, value| needed.params.contains(value));
    }
    true
}

//! Tidies the graph of blocks: dead ends out, chains joined, empty blocks skipped.
//!
//! * A branch or switch on a constant, or with one and the same target, becomes a jump.
//! * Blocks that control cannot reach are removed.
//! * A parameter that is always passed the same value becomes that value.
//! * A block that is the only successor of its only predecessor is joined with it.
//! * A block that only jumps on is skipped, unless values meet there.
//!
//! Nothing is duplicated, so convergent operations stay where they are.

use assay_ssa::analysis::Cfg;
use assay_ssa::{
    Block, BlockCall, Function, IdMap, IdSet, InstData, LoopHint, Module, Value, ValueDef,
};

/// Simplifies until nothing changes.
pub fn simplify_cfg(_: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    loop {
        let mut again = fold_branches(function);
        again |= remove_unreached(function);
        again |= skip_empty(function);
        again |= remove_same_params(function);
        again |= join_chains(function);
        changed |= again;
        if !again {
            return changed;
        }
    }
}

/// Turns conditional branches that always go one way into jumps.
fn fold_branches(function: &mut Function) -> bool {
    let mut changed = false;
    for position in 0..function.blocks().len() {
        let block = function.blocks()[position];
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        let target = match *function.inst(terminator) {
            InstData::Branch {
                cond,
                then,
                otherwise,
            } => match function.const_bits(cond) {
                Some(bits) => Some(if bits & 1 == 1 { then } else { otherwise }),
                None => same_call(function, then, otherwise).then_some(then),
            },
            InstData::Switch {
                value,
                default,
                cases,
            } => match function.const_bits(value) {
                Some(bits) => {
                    let cases = function.switch_cases(cases);
                    let case = cases.iter().find(|&&(number, _)| number == bits);
                    Some(case.map_or(default, |&(_, call)| call))
                }
                None => function.switch_cases(cases).is_empty().then_some(default),
            },
            _ => None,
        };
        if let Some(target) = target {
            *function.inst_mut(terminator) = InstData::Jump { target };
            changed = true;
        }
    }
    changed
}

fn same_call(function: &Function, a: BlockCall, b: BlockCall) -> bool {
    a.block == b.block && function.list_values(a.args) == function.list_values(b.args)
}

/// Takes out the blocks that control cannot reach.
pub(crate) fn remove_unreached(function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    if cfg.order().len() == function.blocks().len() {
        return false;
    }
    let order = function
        .blocks()
        .iter()
        .copied()
        .filter(|&b| cfg.is_reached(b))
        .collect();
    function.set_block_order(order);
    true
}

/// Blocks that hold nothing but a jump: branches go past them. A block with parameters is
/// skipped only when it passes them on untouched and they are used nowhere else.
fn skip_empty(function: &mut Function) -> bool {
    let mut past: IdMap<Block, Option<BlockCall>> = IdMap::new(None);
    let mut any = false;
    // Counting uses takes a walk over everything and is needed for few blocks.
    let mut uses: Option<IdMap<Value, u32>> = None;
    for &block in function.blocks() {
        let Some(call) = only_jumps(function, block) else {
            continue;
        };
        if !function.params(block).is_empty() {
            let uses = uses.get_or_insert_with(|| function.use_counts());
            if !passes_on(function, block, call, uses) {
                continue;
            }
        }
        past[block] = Some(call);
        any = true;
    }
    if !any {
        return false;
    }
    let mut changed = false;
    for block in function.blocks().to_vec() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        if past[block].is_some() {
            continue;
        }
        function.map_targets(terminator, |function, mut call| {
            // A bounded number of steps: empty blocks may form a cycle.
            for _ in 0..8 {
                let Some(next) = past[call.block] else { break };
                let args = substituted(function, call, next);
                call = function.block_call(next.block, &args);
                changed = true;
            }
            call
        });
    }
    changed
}

/// The jump of a block that does nothing else and may be skipped.
fn only_jumps(function: &Function, block: Block) -> Option<BlockCall> {
    let [only] = function.insts(block) else {
        return None;
    };
    let InstData::Jump { target } = *function.inst(*only) else {
        return None;
    };
    // The entry stays, and so does a block that carries a hint about its loop.
    if function.entry() == Some(block) || target.block == block {
        return None;
    }
    (function.block(block).loop_hint == LoopHint::None).then_some(target)
}

/// Whether the parameters of a block are used by its own jump alone.
fn passes_on(
    function: &Function,
    block: Block,
    target: BlockCall,
    uses: &IdMap<Value, u32>,
) -> bool {
    let args = function.list_values(target.args);
    let here = |value: &Value| args.iter().filter(|arg| *arg == value).count() as u32;
    let params = function.params(block);
    params.iter().all(|param| uses[*param] == here(param))
}

/// The arguments of `next`, a jump of the block `call` goes to, in terms of `call`'s.
fn substituted(function: &Function, call: BlockCall, next: BlockCall) -> Vec<Value> {
    let given = function.list_values(call.args);
    let translate = |&value: &Value| match function.def(value) {
        ValueDef::Param(block, position) if block == call.block => {
            given.get(position as usize).copied().unwrap_or(value)
        }
        _ => value,
    };
    function
        .list_values(next.args)
        .iter()
        .map(translate)
        .collect()
}

/// Replaces parameters that receive one and the same value (or themselves) everywhere.
fn remove_same_params(function: &mut Function) -> bool {
    let entry = function.entry();
    let mut incoming: IdMap<Value, Incoming> =
        IdMap::with_len(Incoming::None, function.num_values());
    for &block in function.blocks() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        function.for_each_target(terminator, |call| {
            let args = function.list_values(call.args);
            for (&param, &arg) in function.params(call.block).iter().zip(args) {
                if param != arg {
                    incoming[param] = incoming[param].join(arg);
                }
            }
        });
    }
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut gone: IdSet<Value> = IdSet::new();
    for &block in function.blocks() {
        for &param in function.params(block) {
            if let (true, Incoming::One(value)) = (Some(block) != entry, incoming[param]) {
                // Two parameters passed to each other would replace each other for ever.
                if resolve(&replacement, value) != param {
                    replacement[param] = Some(value);
                    gone.insert(param);
                }
            }
        }
    }
    if gone.is_empty() {
        return false;
    }
    function.replace_values(&replacement);
    drop_params(function, &gone);
    true
}

fn resolve(replacement: &IdMap<Value, Option<Value>>, mut value: Value) -> Value {
    while let Some(next) = replacement[value] {
        value = next;
    }
    value
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Incoming {
    None,
    One(Value),
    Many,
}

impl Incoming {
    fn join(self, value: Value) -> Self {
        match self {
            Incoming::None => Incoming::One(value),
            Incoming::One(known) if known == value => self,
            _ => Incoming::Many,
        }
    }
}

/// Removes parameters and what is passed for them.
fn drop_params(function: &mut Function, gone: &IdSet<Value>) {
    for block in function.blocks().to_vec() {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        function.map_targets(terminator, |function, call| {
            let params = function.params(call.block);
            if !params.iter().any(|&param| gone.contains(param)) {
                return call;
            }
            let args = function.list_values(call.args);
            let kept: Vec<Value> = params
                .iter()
                .zip(args)
                .filter(|(param, _)| !gone.contains(**param))
                .map(|(_, &arg)| arg)
                .collect();
            BlockCall {
                block: call.block,
                args: function.list(&kept),
            }
        });
    }
    for block in function.blocks().to_vec() {
        function.retain_params(block, |_, value| !gone.contains(value));
    }
}

/// Joins a block with its only successor when that has no other predecessor.
fn join_chains(function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let mut joined: IdSet<Block> = IdSet::new();
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    for block in function.blocks().to_vec() {
        if joined.contains(block) {
            continue;
        }
        while let Some(next) = only_follower(function, &cfg, block) {
            let Some(InstData::Jump { target }) =
                function.terminator(block).map(|inst| *function.inst(inst))
            else {
                break;
            };
            let args = function.list_values(target.args).to_vec();
            let params = function.params(next).to_vec();
            for (param, arg) in params.into_iter().zip(args) {
                replacement[param] = Some(arg);
            }
            let mut insts = function.take_insts(block);
            insts.pop();
            insts.extend(function.take_insts(next));
            function.set_insts(block, insts);
            joined.insert(next);
        }
    }
    if joined.is_empty() {
        return false;
    }
    let order = function
        .blocks()
        .iter()
        .copied()
        .filter(|&b| !joined.contains(b))
        .collect();
    function.set_block_order(order);
    function.replace_values(&replacement);
    true
}

/// The block that only `block` jumps to, always.
fn only_follower(function: &Function, cfg: &Cfg, block: Block) -> Option<Block> {
    let InstData::Jump { target } = *function.inst(function.terminator(block)?) else {
        return None;
    };
    let next = target.block;
    let alone = cfg.predecessors(next).len() == 1;
    let free = next != block && function.entry() != Some(next);
    let hinted = function.block(next).loop_hint != LoopHint::None;
    (alone && free && !hinted).then_some(next)
}

//! Parts of functions that run once: static variables are constructed in them, behind a guard.

use super::machine::{Frame, Machine, root_of};
use crate::mark_uninitialised::alloca_of;
use assay_ssa::analysis::Cfg;
use assay_ssa::{
    Block, BlockCall, Builtin, Callee, CastOp, Function, GlobalId, IdSet, Inst, InstData, Value,
};

/// Steps from a condition back to the guard it asks.
const MOST_STEPS: usize = 8;

/// What lies behind a decision by a guard.
pub(super) struct GuardedPart {
    /// The block that ends with the decision.
    pub(super) block: Block,
    /// Where control goes once the part has run.
    pub(super) behind: BlockCall,
    first: BlockCall,
    /// The blocks where the part ends.
    ends: IdSet<Block>,
    /// The globals it mentions.
    pub(super) mentioned: IdSet<GlobalId>,
    /// Variables of the function that are used elsewhere too.
    shared: IdSet<Inst>,
}

/// The parts of a function that are guarded.
pub(super) fn find(function: &Function, guards: &[GlobalId]) -> Vec<GuardedPart> {
    let cfg = Cfg::new(function);
    let blocks = function.blocks().iter();
    let parts = blocks.filter_map(|&block| {
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = *function.inst(function.terminator(block)?)
        else {
            return None;
        };
        // The guard is zero at first: which way is that?
        let (first, behind) = match asks_guard(function, cond, guards)? {
            true => (then, otherwise),
            false => (otherwise, then),
        };
        let ends = reached_blocks(&cfg, behind.block, block);
        if ends.contains(first.block) {
            return None;
        }
        let mut inside = reached_blocks(&cfg, first.block, block);
        for end in ends.iter() {
            inside.remove(end);
        }
        Some(GuardedPart {
            block,
            behind,
            first,
            mentioned: mentioned_in(function, &inside),
            shared: shared(function, &inside)?,
            ends,
        })
    });
    parts.collect()
}

/// Returns true if guards are read for the decisions that were found, and for nothing else.
pub(super) fn all_found(function: &Function, guards: &[GlobalId], found: &[GuardedPart]) -> bool {
    let loads = function
        .all_insts()
        .filter(|&inst| is_load_of(function, inst, guards));
    loads.count() <= found.len()
}

impl GuardedPart {
    /// Runs the part; nothing if that is not possible.
    pub(super) fn run<'m>(&self, machine: &mut Machine<'m>, function: &'m Function) -> Option<()> {
        let mut frame = Frame::in_the_middle(function, self.shared.clone());
        machine.run_from(&mut frame, self.first, &self.ends).ok()
    }
}

fn is_load_of(function: &Function, inst: Inst, guards: &[GlobalId]) -> bool {
    match *function.inst(inst) {
        InstData::Load { ptr, .. } => {
            root_of(function, ptr).is_some_and(|global| guards.contains(&global))
        }
        _ => false,
    }
}

/// What a condition computed from a guard is while the guard is zero; nothing for other conditions.
fn asks_guard(function: &Function, cond: Value, guards: &[GlobalId]) -> Option<bool> {
    let mut value = cond;
    let mut steps = Vec::new();
    for _ in 0..MOST_STEPS {
        let inst = function.def_inst(value)?;
        if is_load_of(function, inst, guards) {
            let mut known = (value, 0);
            for &inst in steps.iter().rev() {
                let of = |value| match value == known.0 {
                    true => Some(known.1),
                    false => function.const_bits(value),
                };
                let bits = crate::evaluate::instruction(function, inst, of)?;
                known = (function.result(inst)?, bits);
            }
            return Some(known.1 & 1 == 1);
        }
        steps.push(inst);
        value = match *function.inst(inst) {
            InstData::Cast { arg, .. } | InstData::Unary { arg, .. } => arg,
            InstData::Binary { args: [a, b], .. } | InstData::IntCompare { args: [a, b], .. } => {
                match (function.is_constant(a), function.is_constant(b)) {
                    (true, false) => b,
                    (false, true) => a,
                    _ => return None,
                }
            }
            _ => return None,
        };
    }
    None
}

/// The blocks control can come to from `start` without passing `except`.
fn reached_blocks(cfg: &Cfg, start: Block, except: Block) -> IdSet<Block> {
    let mut seen = IdSet::new();
    let mut waiting = vec![start];
    while let Some(block) = waiting.pop() {
        if block != except && seen.insert(block) {
            waiting.extend_from_slice(cfg.successors(block));
        }
    }
    seen
}

fn mentioned_in(function: &Function, blocks: &IdSet<Block>) -> IdSet<GlobalId> {
    let mut found = IdSet::new();
    let insts = blocks.iter().flat_map(|block| function.insts(block));
    for &inst in insts {
        function.for_each_operand(inst, |value| {
            if let Some(global) = root_of(function, value) {
                found.insert(global);
            }
        });
    }
    found
}

/// The variables of the function that are used both inside some blocks and elsewhere; nothing if one of them may be
/// written inside, so that something would be missing if the blocks are left out.
fn shared(function: &Function, inside: &IdSet<Block>) -> Option<IdSet<Inst>> {
    let mut inner: IdSet<Inst> = IdSet::new();
    let mut written: IdSet<Inst> = IdSet::new();
    let mut outer: IdSet<Inst> = IdSet::new();
    for &block in function.blocks() {
        let is_inside = inside.contains(block);
        for &inst in function.insts(block) {
            if is_address(function, inst) {
                continue;
            }
            let reads = match *function.inst(inst) {
                InstData::Load { ptr, .. } => Some(ptr),
                InstData::MemCopy { src, .. } => Some(src),
                _ => None,
            };
            function.for_each_operand(inst, |value| {
                let Some(variable) = alloca_of(function, value) else {
                    return;
                };
                match is_inside {
                    true => inner.insert(variable),
                    false => outer.insert(variable),
                };
                if is_inside && reads != Some(value) {
                    written.insert(variable);
                }
            });
        }
    }
    let mut shared = IdSet::new();
    for variable in inner.iter().filter(|&variable| outer.contains(variable)) {
        if written.contains(variable) {
            return None;
        }
        shared.insert(variable);
    }
    Some(shared)
}

/// Returns true if an instruction does nothing with a pointer but compute another: that may happen anywhere.
fn is_address(function: &Function, inst: Inst) -> bool {
    match *function.inst(inst) {
        InstData::PtrAdd { .. } => true,
        InstData::Cast { op, .. } => op == CastOp::SpaceCast,
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => matches!(call.builtin, Builtin::LifetimeStart | Builtin::LifetimeEnd),
        _ => false,
    }
}

//! Unrolls loops whose number of iterations is known, completely.
//!
//! The body is copied once per iteration and each copy's way back goes to the next one;
//! the last copy's way back is never taken. The counter then is a constant in each copy,
//! and simplification removes the exit tests. Values of the loop that are used behind it
//! are sent through thread memory first, and `promote_memory` joins them again.
//!
//! A loop is unrolled when the source asks for it and the result stays reasonable, when
//! its counter indexes thread memory (which can only become registers once every index is
//! a constant), or when it is small anyway. Inner loops come first; a loop around one that
//! stays is copied with it. A hint for a partial unrolling (`unroll(4)`) is followed only
//! as far as a complete one is possible.

use crate::rehearse_loop;
use assay_ssa::analysis::{Cfg, Dominators, Loop, LoopId, Loops, Trips};
use assay_ssa::{
    Access, Block, BlockCall, Builder, Function, IdMap, IdSet, InstData, LoopHint, Module, Type,
    Value,
};

/// Instructions after unrolling that a hint or an indexed array justifies.
const WANTED_SIZE: usize = 6000;
/// Instructions after unrolling without a reason.
const PLAIN_SIZE: usize = 200;
/// Iterations without a reason.
const PLAIN_TRIPS: u64 = 32;
/// Iterations with one.
const WANTED_TRIPS: u64 = 1024;

/// Unrolls loops none of whose inner loops was unrolled just now; run again for the rest.
pub fn unroll_loops(module: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut touched: IdSet<LoopId> = IdSet::new();
    let mut any = false;
    let mut inner_first: Vec<_> = loops.iter().collect();
    inner_first.sort_by_key(|(_, found)| std::cmp::Reverse(found.depth));
    for (id, found) in inner_first {
        if touched.contains(id) || !may_unroll(function, found) {
            continue;
        }
        let trips = Trips::new(function, &loops, &dominators, id);
        let back = trips
            .at_most
            .or_else(|| rehearse_loop::rounds(&module.types, function, &cfg, &dominators, found));
        let count = back.and_then(|back| back.checked_add(1));
        let unrolled = match count {
            Some(count) if worth_it(function, found, count) => {
                unroll(module, function, found, count as usize);
                true
            }
            _ => false,
        };
        // Loops around it have changed: their turn comes in the next round.
        let mut outer = found.parent.filter(|_| unrolled);
        any |= unrolled;
        while let Some(parent) = outer.filter(|&parent| touched.insert(parent)) {
            outer = loops.get(parent).parent;
        }
    }
    any
}

/// Whether unrolling is thinkable, before the rounds are counted.
fn may_unroll(function: &Function, found: &Loop) -> bool {
    !matches!(
        function.block(found.header).loop_hint,
        LoopHint::NoUnroll | LoopHint::UnrollCount(1)
    )
}

fn worth_it(function: &Function, found: &Loop, count: u64) -> bool {
    let size: usize = found
        .blocks
        .iter()
        .map(|&block| function.insts(block).len())
        .sum();
    let total = (size as u64).saturating_mul(count);
    let wanted = match function.block(found.header).loop_hint {
        LoopHint::NoUnroll => return false,
        LoopHint::None => indexes_thread_memory(function, found),
        LoopHint::Unroll | LoopHint::UnrollFull | LoopHint::UnrollCount(_) => true,
    };
    match wanted {
        true => count <= WANTED_TRIPS && total <= WANTED_SIZE as u64,
        false => count <= PLAIN_TRIPS && total <= PLAIN_SIZE as u64,
    }
}

/// Whether an address into an alloca is computed with an index inside the loop.
fn indexes_thread_memory(function: &Function, found: &Loop) -> bool {
    let insts = found.blocks.iter().flat_map(|&block| function.insts(block));
    insts.copied().any(|inst| match *function.inst(inst) {
        InstData::PtrAdd {
            base,
            index: Some(_),
            ..
        } => is_thread_memory(function, base),
        _ => false,
    })
}

fn is_thread_memory(function: &Function, mut pointer: Value) -> bool {
    // Chains of additions are short; a bound keeps odd programs cheap.
    for _ in 0..16 {
        match function.def_data(pointer) {
            Some(InstData::Alloca { .. }) => return true,
            Some(&InstData::PtrAdd { base, .. }) => pointer = base,
            _ => return false,
        }
    }
    false
}

fn unroll(module: &Module, function: &mut Function, found: &Loop, count: usize) {
    let inside: IdSet<Block> = {
        let mut set = IdSet::new();
        found.blocks.iter().for_each(|&block| {
            set.insert(block);
        });
        set
    };
    send_through_memory(module, function, found, &inside);
    function.set_loop_hint(found.header, LoopHint::None);
    let mut order = function.blocks().to_vec();
    let at = order
        .iter()
        .position(|&block| block == found.header)
        .map_or(order.len(), |at| at + 1);
    let dead_end = add_dead_end(function);
    let mut copies: Vec<Vec<Block>> = vec![found.blocks.clone()];
    for _ in 1..count {
        copies.push(copy_blocks(function, &found.blocks));
    }
    // Ways back go to the next copy; copies were made from the untouched original, so their
    // own header still is the target of theirs.
    for (index, blocks) in copies.iter().enumerate() {
        let header = blocks[0];
        let next = copies.get(index + 1).map_or(dead_end, |next| next[0]);
        for &block in blocks {
            let Some(terminator) = function.terminator(block) else {
                continue;
            };
            function.map_targets(terminator, |function, call| {
                if call.block != header {
                    return call;
                }
                if next == dead_end {
                    return function.block_call(dead_end, &[]);
                }
                BlockCall {
                    block: next,
                    ..call
                }
            });
        }
    }
    let made: Vec<Block> = copies
        .into_iter()
        .skip(1)
        .flatten()
        .chain([dead_end])
        .collect();
    order.splice(at..at, made);
    function.set_block_order(order);
}

/// A block that control never reaches.
fn add_dead_end(function: &mut Function) -> Block {
    let block = function.add_block();
    let end = function.make_inst(InstData::Unreachable, Type::VOID, None);
    function.append(block, end);
    block
}

/// Copies blocks; values and targets among them become the copies'.
fn copy_blocks(function: &mut Function, blocks: &[Block]) -> Vec<Block> {
    let mut values: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut places: IdMap<Block, Option<Block>> = IdMap::new(None);
    let mut made = Vec::with_capacity(blocks.len());
    for &block in blocks {
        let copy = function.add_block();
        places[block] = Some(copy);
        made.push(copy);
        function.set_loop_hint(copy, function.block(block).loop_hint);
        for param in function.params(block).to_vec() {
            let ty = function.ty(param);
            values[param] = Some(function.add_param(copy, ty));
        }
        for inst in function.insts(block).to_vec() {
            let (ty, loc) = (function.result_type(inst), function.loc(inst));
            let data = function.copy_lists(*function.inst(inst));
            let new = function.make_inst(data, ty, loc);
            if let (Some(old), Some(result)) = (function.result(inst), function.result(new)) {
                values[old] = Some(result);
            }
            function.append(copy, new);
        }
    }
    for &copy in &made {
        for inst in function.insts(copy).to_vec() {
            function.map_operands(inst, |value| values[value].unwrap_or(value));
            function.map_targets(inst, |_, call| BlockCall {
                block: places[call.block].unwrap_or(call.block),
                ..call
            });
        }
    }
    made
}

/// Values defined inside and used outside are stored when they are made and loaded where
/// they are used.
fn send_through_memory(
    module: &Module,
    function: &mut Function,
    found: &Loop,
    inside: &IdSet<Block>,
) {
    let mut made_inside: IdSet<Value> = IdSet::new();
    for &block in &found.blocks {
        for &param in function.params(block) {
            made_inside.insert(param);
        }
        for &inst in function.insts(block) {
            if let Some(result) = function.result(inst) {
                made_inside.insert(result);
            }
        }
    }
    let mut slots: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut leaving: Vec<Value> = Vec::new();
    let mut users: Vec<Block> = Vec::new();
    for &block in function.blocks() {
        if inside.contains(block) {
            continue;
        }
        let mut uses = false;
        for &inst in function.insts(block) {
            function.for_each_operand(inst, |value| {
                if made_inside.contains(value) {
                    uses = true;
                    if !leaving.contains(&value) {
                        leaving.push(value);
                    }
                }
            });
        }
        if uses {
            users.push(block);
        }
    }
    let Some(entry) = function.entry().filter(|_| !leaving.is_empty()) else {
        return;
    };
    for &value in &leaving {
        let ty = function.ty(value);
        let align = module.types.align(ty);
        let alloca = InstData::Alloca { ty, align };
        let pointer = Type::pointer(assay_ssa::Space::Thread);
        let inst = function.make_inst(alloca, pointer, None);
        function.insert_at(entry, 0, inst);
        slots[value] = function.result(inst);
    }
    store_inside(module, function, found, &leaving, &slots);
    for block in users {
        load_outside(module, function, block, &slots);
    }
}

fn store_inside(
    module: &Module,
    function: &mut Function,
    found: &Loop,
    leaving: &[Value],
    slots: &IdMap<Value, Option<Value>>,
) {
    for &block in &found.blocks {
        let insts = function.take_insts(block);
        let params = function.params(block).to_vec();
        let made = params.into_iter().map(|param| (None, Some(param)));
        let made = made.chain(insts.into_iter().map(|inst| (Some(inst), None)));
        for (inst, param) in made {
            if let Some(inst) = inst {
                function.append(block, inst);
            }
            let value = param.or_else(|| inst.and_then(|inst| function.result(inst)));
            let Some(value) = value.filter(|value| leaving.contains(value)) else {
                continue;
            };
            let Some(pointer) = slots[value] else {
                continue;
            };
            let access = Access::aligned(module.types.align(function.ty(value)));
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            builder.store(pointer, value, access);
        }
    }
}

fn load_outside(
    module: &Module,
    function: &mut Function,
    block: Block,
    slots: &IdMap<Value, Option<Value>>,
) {
    for inst in function.take_insts(block) {
        let mut loaded: Vec<(Value, Value)> = Vec::new();
        let mut wanted: Vec<Value> = Vec::new();
        function.for_each_operand(inst, |value| wanted.push(value));
        for value in wanted {
            let Some(pointer) = slots[value] else {
                continue;
            };
            if loaded.iter().any(|&(old, _)| old == value) {
                continue;
            }
            let ty = function.ty(value);
            let access = Access::aligned(module.types.align(ty));
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            loaded.push((value, builder.load(ty, pointer, access)));
        }
        if !loaded.is_empty() {
            let find = |value: Value| loaded.iter().find(|&&(old, _)| old == value);
            function.map_operands(inst, |value| find(value).map_or(value, |&(_, new)| new));
        }
        function.append(block, inst);
    }
}

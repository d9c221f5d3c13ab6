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
//! stays is copied with it. Where a hint for a partial unrolling (`unroll(4)`) cannot be followed completely,
//! [`unroll_partly`](crate::unroll_partly) does.

use crate::rehearse_loop;
use assay_ssa::analysis::{Cfg, Dominators, Loop, LoopId, Loops, Trips};
use assay_ssa::{
    Access, Block, BlockCall, Builder, Function, IdMap, IdSet, Inst, InstData, LoopHint, Module,
    Type, Value,
};
use std::collections::HashSet;

/// Instructions after unrolling that a hint or an indexed array justifies.
pub(crate) const WANTED_SIZE: usize = 6000;
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
    let mut unroller: Option<Unroller<'_>> = None;
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
        let Some(count) = count.filter(|&count| worth_it(function, found, count)) else {
            continue;
        };
        let unroller = unroller.get_or_insert_with(|| Unroller::new(module, function, &loops));
        unroller.unroll(function, found, count as usize);
        // Loops around it have changed: their turn comes in the next round.
        let mut outer = found.parent;
        while let Some(parent) = outer.filter(|&parent| touched.insert(parent)) {
            outer = loops.get(parent).parent;
        }
    }
    let any = unroller.is_some();
    if let Some(unroller) = unroller {
        unroller.finish(function);
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

/// Unrolls loops that have no blocks in common. What takes a look at the whole function is done once for all of them.
struct Unroller<'a> {
    module: &'a Module,
    /// Values made in loops, with the other blocks that use them; sorted.
    users: Vec<(Value, Block)>,
    /// The order of blocks before anything was unrolled.
    order: Vec<Block>,
    /// Blocks to come behind the header of each unrolled loop.
    behind: IdMap<Block, Vec<Block>>,
    /// The copies that were made of each block.
    copies: IdMap<Block, Vec<Block>>,
    /// While a loop's values are sent through thread memory: where they are there.
    slots: IdMap<Value, Option<Value>>,
    allocas: Vec<Inst>,
    /// While blocks are copied: what became of values and blocks.
    copied_values: IdMap<Value, Option<Value>>,
    copied_blocks: IdMap<Block, Option<Block>>,
}

impl<'a> Unroller<'a> {
    fn new(module: &'a Module, function: &Function, loops: &Loops) -> Self {
        Self {
            module,
            users: users(function, loops),
            order: function.blocks().to_vec(),
            behind: IdMap::new(Vec::new()),
            copies: IdMap::new(Vec::new()),
            slots: IdMap::new(None),
            allocas: Vec::new(),
            copied_values: IdMap::new(None),
            copied_blocks: IdMap::new(None),
        }
    }

    fn unroll(&mut self, function: &mut Function, found: &Loop, count: usize) {
        self.send_through_memory(function, found);
        function.set_loop_hint(found.header, LoopHint::None);
        let dead_end = add_dead_end(function);
        let mut copies: Vec<Vec<Block>> = vec![found.blocks.clone()];
        for _ in 1..count {
            copies.push(self.copy_blocks(function, &found.blocks));
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
        let made = copies.into_iter().skip(1).flatten();
        self.behind[found.header] = made.chain([dead_end]).collect();
    }

    /// Puts the new blocks and the slots where they belong.
    fn finish(self, function: &mut Function) {
        let mut order = Vec::with_capacity(function.blocks().len());
        for block in self.order {
            order.push(block);
            order.extend_from_slice(&self.behind[block]);
        }
        function.set_block_order(order);
        let Some(entry) = function.entry().filter(|_| !self.allocas.is_empty()) else {
            return;
        };
        let insts = function.take_insts(entry);
        for inst in self.allocas.into_iter().rev().chain(insts) {
            function.append(entry, inst);
        }
    }

    /// Copies blocks; values and targets among them become the copies'.
    fn copy_blocks(&mut self, function: &mut Function, blocks: &[Block]) -> Vec<Block> {
        let (values, places) = (&mut self.copied_values, &mut self.copied_blocks);
        let made = function.copy_blocks(blocks, values, places);
        for (&block, &copy) in blocks.iter().zip(&made) {
            self.copies[block].push(copy);
        }
        for &block in blocks {
            places[block] = None;
            for value in made_in(function, block) {
                values[value] = None;
            }
        }
        made
    }

    /// Values defined inside and used outside are stored when they are made and loaded where
    /// they are used.
    fn send_through_memory(&mut self, function: &mut Function, found: &Loop) {
        let inside: HashSet<Block> = found.blocks.iter().copied().collect();
        let (mut leaving, mut using) = (Vec::new(), Vec::new());
        for &block in &found.blocks {
            for value in made_in(function, block) {
                let first = self.users.partition_point(|(other, _)| *other < value);
                let all = self.users.get(first..).unwrap_or_default().iter();
                let before = using.len();
                let of_value = all.take_while(|(other, _)| *other == value);
                for (_, user) in of_value.filter(|(_, user)| !inside.contains(user)) {
                    using.push(*user);
                    using.extend_from_slice(&self.copies[*user]);
                }
                if using.len() > before {
                    let ty = function.ty(value);
                    let align = self.module.types.align(ty);
                    let alloca = InstData::Alloca { ty, align };
                    let pointer = Type::pointer(assay_ssa::Space::Thread);
                    let inst = function.make_inst(alloca, pointer, None);
                    self.allocas.push(inst);
                    self.slots[value] = function.result(inst);
                    leaving.push(value);
                }
            }
        }
        if using.is_empty() {
            return;
        }
        using.sort_unstable();
        using.dedup();
        for &block in &found.blocks {
            self.store_inside(function, block);
        }
        for block in using {
            self.load_outside(function, block);
        }
        for value in leaving {
            self.slots[value] = None;
        }
    }

    fn store_inside(&self, function: &mut Function, block: Block) {
        let insts = function.take_insts(block);
        let params = function.params(block).to_vec();
        let made = params.into_iter().map(|param| (None, Some(param)));
        let made = made.chain(insts.into_iter().map(|inst| (Some(inst), None)));
        for (inst, param) in made {
            if let Some(inst) = inst {
                function.append(block, inst);
            }
            let value = param.or_else(|| inst.and_then(|inst| function.result(inst)));
            let slot = value.and_then(|value| Some((value, self.slots[value]?)));
            let Some((value, pointer)) = slot else {
                continue;
            };
            let access = Access::aligned(self.module.types.align(function.ty(value)));
            let mut builder = Builder::new(function);
            builder.switch_to(block);
            builder.store(pointer, value, access);
        }
    }

    fn load_outside(&self, function: &mut Function, block: Block) {
        for inst in function.take_insts(block) {
            let mut loaded: Vec<(Value, Value)> = Vec::new();
            let mut wanted: Vec<Value> = Vec::new();
            function.for_each_operand(inst, |value| wanted.push(value));
            for value in wanted {
                let Some(pointer) = self.slots[value] else {
                    continue;
                };
                if loaded.iter().any(|&(old, _)| old == value) {
                    continue;
                }
                let ty = function.ty(value);
                let access = Access::aligned(self.module.types.align(ty));
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
}

/// The values that loops make and blocks use in which they are not made, with those blocks.
fn users(function: &Function, loops: &Loops) -> Vec<(Value, Block)> {
    let mut home: IdMap<Value, Option<Block>> = IdMap::with_len(None, function.num_values());
    for &block in function.blocks() {
        if loops.innermost(block).is_some() {
            for value in made_in(function, block) {
                home[value] = Some(block);
            }
        }
    }
    let mut users = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            function.for_each_operand(inst, |value| {
                if home[value].is_some_and(|home| home != block) {
                    users.push((value, block));
                }
            });
        }
    }
    users.sort_unstable();
    users.dedup();
    users
}

/// The values that a block makes.
pub(crate) fn made_in(function: &Function, block: Block) -> Vec<Value> {
    let insts = function.insts(block).iter();
    let results = insts.filter_map(|&inst| function.result(inst));
    function
        .params(block)
        .iter()
        .copied()
        .chain(results)
        .collect()
}

/// A block that control never reaches.
fn add_dead_end(function: &mut Function) -> Block {
    let block = function.add_block();
    let end = function.make_inst(InstData::Unreachable, Type::VOID, None);
    function.append(block, end);
    block
}

//! Unrolls loops by the number their source asks for, where how often they run is known only at run time.
//!
//! `#pragma unroll(4)` of a loop over `n` elements becomes a loop whose turn is four turns of the original, run while at least
//! four are left, and the original for the rest:
//!
//! ```text
//! guard:  at least 4 turns left? ─no──────────────┐
//!           │ yes                                 ▼
//! turns:  turn, turn, turn, turn ─4 left?─no─▶ any left? ─yes─▶ rest: turn ─▶ …
//!           ▲                       │ yes         │ no                   │
//!           └───────────────────────┘             └──────▶ behind ◀──────┘
//! ```
//!
//! That is what LLVM's run-time unrolling makes of the hint, with its conditions: the loop has one way out, at its end; a
//! counter tells how many turns are left; no operation in it involves other threads (LLVM makes no remainder of such loops).
//! Without tests between them, turns lie in one block, where addresses of neighbouring turns differ by a constant and their
//! accesses can be made together. A hint of more turns than the loop has leaves all of them to the rest, as with LLVM.

use crate::unroll_loops::{WANTED_SIZE, made_in};
use assay_ssa::analysis::{Cfg, Dominators, ExitTest, Loop, LoopId, Loops, Trips};
use assay_ssa::{
    BinaryOp, Block, BlockCall, Builder, Flags, Function, IdMap, IdSet, InstData, IntCond,
    LoopHint, Module, Value,
};

/// Unrolls loops with a number in their hint, inner ones first; run again for those around them.
pub fn unroll_partly(_: &Module, function: &mut Function) -> bool {
    let hinted = |&block: &Block| turns(function.block(block).loop_hint).is_some();
    if !function.blocks().iter().any(hinted) {
        return false;
    }
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut touched: IdSet<LoopId> = IdSet::new();
    let mut inner_first: Vec<_> = loops.iter().collect();
    inner_first.sort_by_key(|(_, found)| std::cmp::Reverse(found.depth));
    let mut any = false;
    for (id, found) in inner_first {
        if touched.contains(id) {
            continue;
        }
        let trips = Trips::new(function, &loops, &dominators, id);
        let Some(plan) = Plan::new(function, found, &trips) else {
            continue;
        };
        plan.carry_out(function, found);
        any = true;
        // Loops around it have changed: their turn comes in the next round.
        let mut outer = found.parent;
        while let Some(parent) = outer.filter(|&parent| touched.insert(parent)) {
            outer = loops.get(parent).parent;
        }
    }
    any
}

/// The turns that a hint asks for.
fn turns(hint: LoopHint) -> Option<u32> {
    match hint {
        LoopHint::UnrollCount(turns) => Some(turns).filter(|&turns| turns > 1),
        _ => None,
    }
}

/// A loop that can be unrolled, and by how much.
struct Plan {
    turns: u32,
    /// The block that goes back, and out.
    latch: Block,
    /// Where it goes when the loop ends.
    exit: BlockCall,
    test: ExitTest,
    /// How far the counter moves in a turn, as a number without sign.
    stride: u64,
}

impl Plan {
    fn new(function: &Function, found: &Loop, trips: &Trips) -> Option<Plan> {
        let turns = turns(function.block(found.header).loop_hint)?;
        let (&[latch], &[(leaving, _)]) = (found.latches.as_slice(), found.exits.as_slice()) else {
            return None;
        };
        let &[test] = trips.tests.as_slice() else {
            return None;
        };
        if leaving != latch || test.block != latch {
            return None;
        }
        let insts = found.blocks.iter().flat_map(|&block| function.insts(block));
        let size = insts.clone().count().checked_mul(turns as usize)?;
        if size > WANTED_SIZE || insts.copied().any(|inst| function.effects(inst).convergent) {
            return None;
        }
        let step = test.induction.step;
        let towards_bound = match test.cond {
            IntCond::Ne => true,
            IntCond::Ult | IntCond::Ule | IntCond::Slt | IntCond::Sle => step > 0,
            IntCond::Ugt | IntCond::Uge | IntCond::Sgt | IntCond::Sge => step < 0,
            IntCond::Eq => false,
        };
        let stride = step.unsigned_abs();
        let distance = stride.checked_mul(u64::from(turns) - 1)?;
        let bits = function.int_type(test.induction.param)?.bits();
        let fits = distance.checked_shr(bits - 1) == Some(0);
        let exit = exit(function, found, latch)?;
        (towards_bound && fits).then_some(Plan {
            turns,
            latch,
            exit,
            test,
            stride,
        })
    }

    fn carry_out(&self, function: &mut Function, found: &Loop) {
        let behind = self.gather_results(function, found);
        let copies: Vec<Vec<Block>> = (0..self.turns)
            .map(|_| copy(function, &found.blocks))
            .collect();
        let latch = found.blocks.iter().position(|&block| block == self.latch);
        let latches: Vec<Block> = copies
            .iter()
            .filter_map(|copy| copy.get(latch?).copied())
            .collect();
        let headers: Vec<Block> = copies
            .iter()
            .filter_map(|copy| copy.first().copied())
            .collect();
        let (Some(&first), Some(&last)) = (headers.first(), latches.last()) else {
            return;
        };
        for (&latch, &next) in latches.iter().zip(headers.iter().skip(1)) {
            if let (Some(end), Some(inst)) =
                (End::of(function, latch, behind), function.terminator(latch))
            {
                *function.inst_mut(inst) = InstData::Jump {
                    target: BlockCall {
                        block: next,
                        ..end.back
                    },
                };
            }
        }
        for &header in &headers {
            function.set_loop_hint(header, LoopHint::None);
        }
        function.set_loop_hint(first, LoopHint::NoUnroll);
        function.set_loop_hint(found.header, LoopHint::NoUnroll);
        let guard = self.add_guard(function, found, first);
        let rest = self.add_rest(function, last, (first, found.header, behind));

        let made: Vec<Block> = [guard]
            .into_iter()
            .chain(copies.into_iter().flatten())
            .chain(rest)
            .collect();
        let new: IdSet<Block> = made.iter().copied().chain([behind]).collect();
        let mut order = Vec::with_capacity(function.blocks().len());
        for &block in function
            .blocks()
            .iter()
            .filter(|&&block| !new.contains(block))
        {
            if block == found.header {
                order.extend_from_slice(&made);
            }
            order.push(block);
            if block == self.latch {
                order.push(behind);
            }
        }
        function.set_block_order(order);
    }

    /// Makes a block behind the loop whose parameters are all that the loop makes and others use: there will be two loops that
    /// make it.
    fn gather_results(&self, function: &mut Function, found: &Loop) -> Block {
        let mut inside: IdSet<Value> = IdSet::new();
        for &block in &found.blocks {
            for value in made_in(function, block) {
                inside.insert(value);
            }
        }
        let in_loop: IdSet<Block> = found.blocks.iter().copied().collect();
        let others: Vec<Block> = function
            .blocks()
            .iter()
            .copied()
            .filter(|&block| !in_loop.contains(block))
            .collect();
        let passed = function.list_values(self.exit.args).to_vec();
        let mut results: Vec<Value> = passed.clone();
        for &block in &others {
            for &inst in function.insts(block) {
                function.for_each_operand(inst, |value| results.push(value));
            }
        }
        results.retain(|&value| inside.contains(value));
        results.sort_unstable();
        results.dedup();

        let behind = function.add_block();
        let mut params: IdMap<Value, Option<Value>> = IdMap::new(None);
        for &value in &results {
            let ty = function.ty(value);
            params[value] = Some(function.add_param(behind, ty));
        }
        let outside = |value: Value| params[value].unwrap_or(value);
        for &block in &others {
            for inst in function.insts(block).to_vec() {
                function.map_operands(inst, outside);
            }
        }
        let passed: Vec<Value> = passed.into_iter().map(outside).collect();
        let mut builder = Builder::new(function);
        builder.switch_to(behind);
        builder.jump(self.exit.block, &passed);
        if let Some(end) = function.terminator(self.latch) {
            function.map_targets(end, |function, call| {
                if in_loop.contains(call.block) {
                    return call;
                }
                function.block_call(behind, &results)
            });
        }
        behind
    }

    /// Decides where the loop is entered: all its turns together if there are as many, the rest otherwise.
    fn add_guard(&self, function: &mut Function, found: &Loop, first: Block) -> Block {
        let guard = function.add_block();
        let mut params = Vec::new();
        for param in function.params(found.header).to_vec() {
            let ty = function.ty(param);
            params.push(function.add_param(guard, ty));
        }
        for &block in &found.entering {
            if let Some(end) = function.terminator(block) {
                function.map_targets(end, |_, call| BlockCall {
                    block: if call.block == found.header {
                        guard
                    } else {
                        call.block
                    },
                    ..call
                });
            }
        }
        let counter = self.counter(function, found.header, &params);
        let mut builder = Builder::new(function);
        builder.switch_to(guard);
        // The first turn is made anyway; after it and all others but the last the loop goes on.
        let enough = self.goes_on(&mut builder, (counter, self.test.offset), self.turns - 1);
        builder.branch(enough, (first, &params), (found.header, &params));
        guard
    }

    /// Ends the last of the turns made together: with as many again, or with what is left.
    fn add_rest(
        &self,
        function: &mut Function,
        latch: Block,
        (first, header, behind): (Block, Block, Block),
    ) -> Option<Block> {
        let end = End::of(function, latch, behind)?;
        let inst = function.terminator(latch)?;
        let loc = function.loc(inst);
        let again = function.list_values(end.back.args).to_vec();
        let results = function.list_values(end.out.args).to_vec();
        let counter = self.counter(function, header, &again);
        let mut insts = function.take_insts(latch);
        insts.pop();
        function.set_insts(latch, insts);
        let rest = function.add_block();
        let mut builder = Builder::new(function);
        builder.set_loc(loc);
        builder.switch_to(latch);
        // The loop goes on now, and after all of the next turns but the last.
        let tested = self.test.offset.wrapping_sub(self.test.induction.step);
        let enough = self.goes_on(&mut builder, (counter, tested), self.turns);
        builder.branch(enough, (first, &again), (rest, &[]));
        builder.switch_to(rest);
        match end.goes_back_when {
            true => builder.branch(end.cond, (header, &again), (behind, &results)),
            false => builder.branch(end.cond, (behind, &results), (header, &again)),
        };
        Some(rest)
    }

    /// The counter among what is passed to the header.
    fn counter(&self, function: &Function, header: Block, passed: &[Value]) -> Value {
        let counter = self.test.induction.param;
        let params = function.params(header).iter();
        let found = params.zip(passed).find(|&(&param, _)| param == counter);
        found.map_or(counter, |(_, &value)| value)
    }

    /// Returns true if the test holds `times` times in a row, the first time for a counter plus a constant.
    ///
    /// The tested number moves towards the bound and does not pass it while the distance between the two, which is exact in
    /// numbers without sign, exceeds what it moves.
    fn goes_on(
        &self,
        builder: &mut Builder<'_>,
        (counter, offset): (Value, i64),
        times: u32,
    ) -> Value {
        let (cond, bound) = (self.test.cond, self.test.bound);
        let ty = builder.function().ty(counter);
        let tested = match offset {
            0 => counter,
            offset => {
                let offset = builder.constant(ty, offset as u64);
                builder.binary(BinaryOp::Add, counter, offset, Flags::NONE)
            }
        };
        let distance = self.stride * u64::from(times - 1);
        let holds = builder.icmp(cond, tested, bound);
        if distance == 0 {
            return holds;
        }
        let (from, to) = match self.test.induction.step > 0 {
            true => (tested, bound),
            false => (bound, tested),
        };
        let left = builder.binary(BinaryOp::Sub, to, from, Flags::NONE);
        let distance = builder.constant(ty, distance);
        let far = match cond {
            IntCond::Ule | IntCond::Sle | IntCond::Uge | IntCond::Sge => IntCond::Uge,
            _ => IntCond::Ugt,
        };
        let far = builder.icmp(far, left, distance);
        match cond {
            IntCond::Ne => far,
            _ => builder.binary(BinaryOp::And, holds, far, Flags::NONE),
        }
    }
}

/// The branch that ends a turn.
struct End {
    cond: Value,
    goes_back_when: bool,
    back: BlockCall,
    out: BlockCall,
}

impl End {
    fn of(function: &Function, latch: Block, behind: Block) -> Option<End> {
        let InstData::Branch {
            cond,
            then,
            otherwise,
        } = *function.inst(function.terminator(latch)?)
        else {
            return None;
        };
        let goes_back_when = otherwise.block == behind;
        let (back, out) = match goes_back_when {
            true => (then, otherwise),
            false => (otherwise, then),
        };
        Some(End {
            cond,
            goes_back_when,
            back,
            out,
        })
    }
}

/// Where a loop goes from its only latch when it ends.
fn exit(function: &Function, found: &Loop, latch: Block) -> Option<BlockCall> {
    let mut exit = None;
    function.for_each_target(function.terminator(latch)?, |call| {
        if !found.blocks.contains(&call.block) {
            exit = Some(call);
        }
    });
    exit
}

/// Copies the blocks of a loop.
fn copy(function: &mut Function, blocks: &[Block]) -> Vec<Block> {
    let (mut values, mut places) = (IdMap::new(None), IdMap::new(None));
    function.copy_blocks(blocks, &mut values, &mut places)
}

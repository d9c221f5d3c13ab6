//! How often a loop goes round, found by going round.
//!
//! Compilers turn counters into stranger things: a loop of two rounds may carry a truth
//! value that starts true and is false the second time. Where everything an exit depends on
//! starts as a constant, its rounds can simply be computed one after the other.
//!
//! Thread memory bounds a loop too. A loop that touches element `i` of an array of four in
//! every round has at most four: the fifth would leave the array, which no program may do.
//! The round that may not happen ends in `unreachable`, so whoever runs a program that does
//! it all the same is told.

use crate::evaluate;
use assay_ssa::analysis::{Cfg, Dominators, Loop};
use assay_ssa::{Aggregates, Block, Function, IndexExtend, InstData, TypeKind, Value, ValueDef};

/// Rounds tried before giving up.
const MOST_ROUNDS: u64 = 256;
/// How deep an exit's condition may be nested.
const DEEPEST: usize = 16;
/// Accesses to thread memory that are looked at.
const MOST_TOUCHES: usize = 4;

/// An upper bound of how often a loop jumps back to its header.
///
/// It is the exact number unless another exit, one that does not depend on constants alone,
/// is taken earlier.
pub(crate) fn rounds(
    types: &Aggregates,
    function: &Function,
    cfg: &Cfg,
    dominators: &Dominators,
    found: &Loop,
) -> Option<u64> {
    let &[latch] = found.latches.as_slice() else {
        return None;
    };
    let tests = exit_tests(function, dominators, found, latch);
    let mut state = State::new(function, cfg, found)?;
    let touches = touches(types, function, dominators, found, latch);
    for round in 0..MOST_ROUNDS {
        let mut seen = false;
        for test in &tests {
            if let Some(bits) = state.value(function, test.cond, DEEPEST) {
                if (bits & 1 == 1) == test.leaves_when {
                    return Some(round);
                }
                seen = true;
            }
        }
        for touch in &touches {
            if let Some(bits) = state.value(function, touch.index, DEEPEST) {
                if !touch.is_inside(function, bits) {
                    return round.checked_sub(1);
                }
                seen = true;
            }
        }
        if !seen {
            return None;
        }
        state.advance(function, latch)?;
    }
    None
}

/// A branch out of the loop that is passed every round.
struct Test {
    cond: Value,
    leaves_when: bool,
}

fn exit_tests(
    function: &Function,
    dominators: &Dominators,
    found: &Loop,
    latch: Block,
) -> Vec<Test> {
    let exits = found.exits.iter();
    let every_round = exits.filter(|(from, _)| dominators.dominates(*from, latch));
    every_round
        .filter_map(|&(from, _)| {
            let InstData::Branch {
                cond,
                then,
                otherwise,
            } = *function.inst(function.terminator(from)?)
            else {
                return None;
            };
            let stays = |block: Block| found.blocks.contains(&block);
            (stays(then.block) != stays(otherwise.block)).then_some(Test {
                cond,
                leaves_when: !stays(then.block),
            })
        })
        .collect()
}

/// An access to an alloca that every round performs before it can leave the loop.
struct Touch {
    index: Value,
    extend: IndexExtend,
    scale: u32,
    /// Bytes from the start of the alloca when the index is zero.
    offset: i64,
    /// The largest distance at which the access is inside.
    last: i64,
}

impl Touch {
    fn is_inside(&self, function: &Function, bits: u64) -> bool {
        let index = match (self.extend, function.int_type(self.index)) {
            (IndexExtend::Sign, Some(scalar)) => evaluate::signed(scalar, bits),
            _ => bits as i64,
        };
        let distance = index
            .checked_mul(i64::from(self.scale))
            .and_then(|bytes| bytes.checked_add(self.offset));
        distance.is_some_and(|distance| (0..=self.last).contains(&distance))
    }
}

fn touches(
    types: &Aggregates,
    function: &Function,
    dominators: &Dominators,
    found: &Loop,
    latch: Block,
) -> Vec<Touch> {
    let always = |block: Block| {
        let mut exits = found.exits.iter();
        dominators.dominates(block, latch)
            && exits.all(|&(from, _)| dominators.dominates(block, from))
    };
    let blocks = found.blocks.iter().copied().filter(|&block| always(block));
    blocks
        .flat_map(|block| function.insts(block).iter())
        .filter_map(|&inst| match *function.inst(inst) {
            InstData::Load { ptr, .. } => touch(
                types,
                function,
                ptr,
                types.store_size(function.result_type(inst)),
            ),
            InstData::Store { ptr, value, .. } => {
                touch(types, function, ptr, types.store_size(function.ty(value)))
            }
            _ => None,
        })
        .take(MOST_TOUCHES)
        .collect()
}

/// The access of `size` bytes at a pointer, if that is an alloca, one index and constants.
fn touch(types: &Aggregates, function: &Function, pointer: Value, size: u32) -> Option<Touch> {
    let mut place = pointer;
    let mut total = 0i64;
    let mut indexed = None;
    for _ in 0..DEEPEST {
        match *function.def_data(place)? {
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            } => {
                total = total.checked_add(offset)?;
                place = base;
                if let Some(index) = index {
                    if indexed.is_some() {
                        return None;
                    }
                    indexed = Some((index, extend, scale));
                }
            }
            InstData::Alloca { ty, .. } => {
                let (index, extend, scale) = indexed?;
                let last = i64::from(types.store_size(ty)) - i64::from(size);
                return Some(Touch {
                    index,
                    extend,
                    scale,
                    offset: total,
                    last,
                });
            }
            _ => return None,
        }
    }
    None
}

/// The header's parameters during one round, as far as they are known.
struct State {
    header: Block,
    params: Vec<Option<u64>>,
}

impl State {
    /// The first round; nothing when no parameter starts as a constant.
    fn new(function: &Function, cfg: &Cfg, found: &Loop) -> Option<Self> {
        let header = found.header;
        let mut params = vec![None; function.params(header).len()];
        for (position, param) in params.iter_mut().enumerate() {
            let mut start = None;
            let mut same = true;
            for &pred in cfg.predecessors(header) {
                if found.latches.contains(&pred) {
                    continue;
                }
                let Some(terminator) = function.terminator(pred) else {
                    continue;
                };
                function.for_each_target(terminator, |call| {
                    if call.block == header {
                        let arg = function.list_values(call.args).get(position);
                        let bits = arg.and_then(|&arg| function.const_bits(arg));
                        same &= bits.is_some() && (start.is_none() || start == bits);
                        start = bits;
                    }
                });
            }
            *param = start.filter(|_| same);
        }
        let any = params.iter().any(Option::is_some);
        any.then_some(State { header, params })
    }

    /// Goes to the next round.
    fn advance(&mut self, function: &Function, latch: Block) -> Option<()> {
        let mut next = vec![None; self.params.len()];
        let mut jumps = 0;
        function.for_each_target(function.terminator(latch)?, |call| {
            if call.block != self.header {
                return;
            }
            jumps += 1;
            let args = function.list_values(call.args);
            for ((next, now), &arg) in next.iter_mut().zip(&self.params).zip(args) {
                if now.is_some() {
                    *next = self.value(function, arg, DEEPEST);
                }
            }
        });
        self.params = next;
        (jumps == 1).then_some(())
    }

    /// A scalar of this round, if it follows from what is known.
    fn value(&self, function: &Function, value: Value, depth: usize) -> Option<u64> {
        if let Some(bits) = function.const_bits(value) {
            return Some(bits);
        }
        if let ValueDef::Param(block, index) = function.def(value) {
            let known = self.params.get(index as usize).copied().flatten();
            return known.filter(|_| block == self.header);
        }
        let depth = depth.checked_sub(1)?;
        let scalar = |value: Value| match function.ty(value).kind() {
            TypeKind::Scalar(scalar) => Some(scalar),
            _ => None,
        };
        let get = |value: Value| self.value(function, value, depth);
        match *function.def_data(value)? {
            InstData::Binary {
                op, args: [a, b], ..
            } => evaluate::binary(op, scalar(a)?, get(a)?, get(b)?),
            InstData::IntCompare {
                cond, args: [a, b], ..
            } => {
                let holds = evaluate::int_compare(cond, scalar(a)?, get(a)?, get(b)?);
                Some(u64::from(holds))
            }
            InstData::Cast { op, arg, .. } => {
                evaluate::cast(op, scalar(arg)?, scalar(value)?, get(arg)?)
            }
            InstData::Select {
                cond, args: [a, b], ..
            } => match get(cond)? & 1 {
                1 => get(a),
                _ => get(b),
            },
            _ => None,
        }
    }
}

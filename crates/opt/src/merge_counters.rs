//! Leaves loops one counter, 32 bits wide where that is enough.
//!
//! * Counters that start a constant apart and take the same step are one counter and a
//!   constant.
//! * A 64-bit counter from a constant up to a bound below 2³² counts in 32 bits and is
//!   widened where it is used; addresses then take the narrow one.
//!
//! A counter that takes another step stays: the addition it costs each time round is cheaper
//! than the multiplication that would replace it.

use crate::bounds::upper_bound;
use assay_ssa::analysis::{Cfg, Dominators, ExitTest, Induction, Loop, Loops, Trips};
use assay_ssa::{
    BinaryOp, BlockCall, CastOp, Flags, Function, IdMap, Inst, InstData, IntCond, Module, Scalar,
    Type, Value,
};

/// Merges and narrows the counters of all loops.
pub fn merge_counters(_: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let loops = Loops::new(&cfg, &dominators, function);
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    for (id, found) in loops.iter() {
        let trips = Trips::new(function, &loops, &dominators, id);
        for test in &trips.tests {
            if is_narrow_enough(function, test) {
                changed |= narrow(function, found, &test.induction, &mut replacement);
            }
        }
        changed |= merge(function, found, &trips.inductions, &mut replacement);
    }
    if changed {
        function.replace_values(&replacement);
    }
    changed
}

/// Replaces counters that run along with an earlier one.
fn merge(
    function: &mut Function,
    found: &Loop,
    counters: &[Induction],
    replacement: &mut IdMap<Value, Option<Value>>,
) -> bool {
    let mut changed = false;
    for (at, counter) in counters.iter().enumerate() {
        let leader = counters[..at].iter().find(|leader| {
            leader.step == counter.step
                && function.ty(leader.param) == function.ty(counter.param)
                && replacement[leader.param].is_none()
        });
        let Some(leader) = leader.filter(|_| replacement[counter.param].is_none()) else {
            continue;
        };
        let Some(distance) = distance(function, leader.init, counter.init) else {
            continue;
        };
        replacement[counter.param] = Some(match distance {
            0 => leader.param,
            _ => {
                let ty = function.ty(counter.param);
                let constant = function.constant(ty, distance as u64);
                let sum = [leader.param, constant];
                let made = function.make_binary(BinaryOp::Add, Flags::NONE, sum);
                function.insert_at(found.header, 0, made);
                function.result(made).unwrap_or(counter.param)
            }
        });
        changed = true;
    }
    changed
}

/// How far two starts are apart, if that is a constant.
fn distance(function: &Function, from: Value, to: Value) -> Option<i64> {
    if from == to {
        return Some(0);
    }
    Some(
        function
            .const_int(to)?
            .wrapping_sub(function.const_int(from)?),
    )
}

/// Whether a 64-bit counter never leaves 32 bits: it starts at a constant, and each way back
/// is taken only while the counter's next value is below a small bound.
fn is_narrow_enough(function: &Function, test: &ExitTest) -> bool {
    let Induction {
        param, init, step, ..
    } = test.induction;
    let upward = matches!(test.cond, IntCond::Ult | IntCond::Slt);
    if function.int_type(param) != Some(Scalar::I64) || !upward {
        return false;
    }
    let (Some(start), Ok(step)) = (function.const_bits(init), u64::try_from(step)) else {
        return false;
    };
    let bound = upper_bound(function, test.bound);
    let largest = start.max(bound.saturating_sub(1));
    let tests_next = u64::try_from(test.offset) == Ok(step);
    let small = |number: u64| number <= u64::from(u32::MAX);
    tests_next && small(bound) && small(start) && largest.checked_add(step).is_some_and(small)
}

fn narrow(
    function: &mut Function,
    found: &Loop,
    counter: &Induction,
    replacement: &mut IdMap<Value, Option<Value>>,
) -> bool {
    let Some(increment) = function.def_inst(counter.next) else {
        return false;
    };
    let (Some(start), Some(at)) = (
        function.const_bits(counter.init),
        block_of(function, found, increment),
    ) else {
        return false;
    };
    if replacement[counter.param].is_some() {
        return false;
    }
    let param = function.add_param(found.header, Type::I32);
    let widened = function.make_inst(widen(param), Type::I64, None);
    function.insert_at(found.header, 0, widened);
    replacement[counter.param] = function.result(widened);
    let step = function.constant(Type::I32, counter.step as u64);
    let next = function.make_binary(BinaryOp::Add, Flags::NUW, [param, step]);
    function.set_loc(next, function.loc(increment));
    let position = function
        .insts(at)
        .iter()
        .position(|&inst| inst == increment);
    function.insert_at(at, position.unwrap_or(0), next);
    let Some(next) = function.result(next) else {
        return false;
    };
    *function.inst_mut(increment) = widen(next);
    let start = function.constant(Type::I32, start);
    let back = found.latches.iter().map(|&block| (block, next));
    let into = found.entering.iter().map(|&block| (block, start));
    let mut ways: Vec<_> = back.chain(into).collect();
    ways.sort_unstable();
    ways.dedup();
    for (block, passed) in ways {
        let Some(terminator) = function.terminator(block) else {
            continue;
        };
        function.map_targets(terminator, |function, call| {
            if call.block != found.header {
                return call;
            }
            let mut args = function.list_values(call.args).to_vec();
            args.push(passed);
            BlockCall {
                block: call.block,
                args: function.list(&args),
            }
        });
    }
    true
}

fn widen(arg: Value) -> InstData {
    InstData::Cast {
        op: CastOp::ZExt,
        flags: Flags::NONE,
        arg,
    }
}

/// The block of a loop an instruction is in.
fn block_of(function: &Function, found: &Loop, inst: Inst) -> Option<assay_ssa::Block> {
    let mut blocks = found.blocks.iter().copied();
    blocks.find(|&block| function.insts(block).contains(&inst))
}

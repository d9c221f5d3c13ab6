//! A counted loop spread over the lanes of a simdgroup.

use super::counted::{Counted, stride};
use super::edit::{branch, jump};
use super::reduction::{Reduction, Sharing};
use super::simdgroup_rows::{barrier, is_private};
use assay_ssa::{
    BinaryOp, Block, Builder, Flags, Function, IdMap, Inst, InstData, IntCond, Space, Type, Value,
};

/// Elements of a row that one round may read in several accesses.
const NEIGHBOURS: u32 = 4;

/// How a loop is spread over lanes.
pub(super) struct Plan {
    /// The loop.
    pub(super) counted: Counted,
    /// What it reduces.
    pub(super) reductions: Vec<Reduction>,
    /// It reads consecutive memory.
    pub(super) consecutive: bool,
}

impl Plan {
    /// The plan for a loop, if its rounds do not depend on each other but by reductions.
    pub(super) fn of(function: &Function, counted: Counted) -> Option<Plan> {
        let header = counted.found.header;
        let mut reductions = Vec::new();
        for &param in function.params(header) {
            let induction = counted.inductions.iter().any(|i| i.param == param);
            if !induction {
                reductions.push(Reduction::of(function, &counted, param)?);
            }
        }
        let leaves = leaving(function, &counted);
        let exits = |value: &Value| {
            let mut all = reductions.iter();
            all.any(|reduction| reduction.leaves_as(&counted) == *value)
        };
        if !leaves.iter().all(exits) {
            return None;
        }
        let inner = |value: Value| counted.makes(function, value);
        let variable = counted.test.induction.param;
        let mut consecutive = false;
        let mut accesses: Vec<(Inst, Value, bool, Option<assay_ssa::AliasId>)> = Vec::new();
        for &block in &counted.found.blocks {
            for &inst in function.insts(block) {
                match *function.inst(inst) {
                    InstData::Load { ptr, access } => {
                        if function.ty(ptr).space() == Some(Space::Thread) {
                            return None;
                        }
                        let bytes = function.result_type(inst).element()?.bytes();
                        let lanes = u32::from(function.result_type(inst).lanes().max(1));
                        let step = stride(function, ptr, variable, &inner);
                        // A round may read a few neighbours, or walk backwards.
                        let near = i64::from(NEIGHBOURS * bytes * lanes);
                        consecutive |= step.is_some_and(|step| step != 0 && step.abs() <= near);
                        accesses.push((inst, ptr, false, access.alias));
                    }
                    InstData::Store { ptr, access, .. } => {
                        let step = stride(function, ptr, variable, &inner);
                        if function.ty(ptr).space() == Some(Space::Thread)
                            || step.is_none_or(|step| step == 0)
                        {
                            return None;
                        }
                        accesses.push((inst, ptr, true, access.alias));
                    }
                    InstData::Alloca { .. }
                    | InstData::MemCopy { .. }
                    | InstData::MemSet { .. } => {
                        return None;
                    }
                    _ => {}
                }
            }
        }
        // What one round writes no other round may touch.
        for &(_, written, _, alias) in accesses.iter().filter(|access| access.2) {
            let others = accesses
                .iter()
                .filter(|access| access.1 != written && !is_private(function, access.1));
            for &(_, _, _, other) in others {
                if function.may_alias(alias, other) {
                    return None;
                }
            }
        }
        Some(Plan {
            counted,
            reductions,
            consecutive,
        })
    }

    /// Rewrites the loop: `for (k = lane; k < rounds; k += 32)`, where `lane` is a lane's number among those that share it.
    pub(super) fn rewrite(
        &self,
        function: &mut Function,
        lane: Value,
        sharing: Sharing,
        shared: bool,
    ) {
        let counted = &self.counted;
        let header = counted.found.header;
        let stores = counted.found.blocks.iter().any(|&block| {
            let mut insts = function.insts(block).iter();
            insts.any(|&inst| function.effects(inst).writes)
        });
        let given = counted.passed(function, counted.preheader);
        let back = counted.passed(function, counted.latch);
        let test = counted.test.block;
        let (_, exit_args) = exit_edge(function, counted);
        let params = function.params(header).to_vec();
        let insts = function.take_insts(counted.preheader);
        for &inst in insts.iter().take(insts.len().saturating_sub(1)) {
            function.append(counted.preheader, inst);
        }
        let pre = counted.preheader;
        if shared && stores {
            barrier(function, pre);
        }
        let rounds = counted.rounds(function, pre);
        let ty = function.ty(counted.test.induction.param);
        let lane = widened(function, pre, lane, ty);
        // The new header: the round, and what is reduced.
        let ask = function.add_block();
        let round = function.add_param(ask, ty);
        let mut start = vec![lane];
        let mut parts = Vec::new();
        for reduction in &self.reductions {
            let place = params.iter().position(|&param| param == reduction.param);
            let init = place.and_then(|place| given.get(place).copied());
            let Some(init) = init else { continue };
            parts.push(function.add_param(ask, function.ty(reduction.param)));
            start.push(reduction.start(function, pre, init, lane));
        }
        jump(function, pre, ask, &start);
        let (body, after) = (function.add_block(), function.add_block());
        let mut builder = Builder::new(function);
        builder.switch_to(ask);
        let more = builder.icmp(IntCond::Ult, round, rounds);
        branch(function, ask, more, body, after);
        // Variables that grow by a constant follow from the round.
        let mut enter = Vec::with_capacity(params.len());
        for (place, &param) in params.iter().enumerate() {
            let induction = counted.inductions.iter().find(|i| i.param == param);
            let part = self.reductions.iter().position(|r| r.param == param);
            enter.push(match (induction, part) {
                (_, Some(part)) => parts[part],
                (Some(induction), _) => at_round(function, body, round, induction),
                _ => given[place],
            });
        }
        jump(function, body, header, &enter);
        // The way back: the next round of this lane.
        let latch = counted.latch;
        let insts = function.take_insts(latch);
        for &inst in insts.iter().take(insts.len().saturating_sub(1)) {
            function.append(latch, inst);
        }
        let mut builder = Builder::new(function);
        builder.switch_to(latch);
        let lanes = builder.constant(ty, u64::from(sharing.lanes));
        let mut again = vec![builder.binary(BinaryOp::Add, round, lanes, Flags::NONE)];
        for reduction in &self.reductions {
            let place = params.iter().position(|&param| param == reduction.param);
            again.extend(place.and_then(|place| back.get(place).copied()));
        }
        if !counted.tested_behind {
            always_stay(function, counted, test);
        }
        jump(function, latch, ask, &again);
        // Behind the loop the parts are put together.
        let mut replacement = IdMap::with_len(None, function.num_values());
        for (reduction, &part) in self.reductions.iter().zip(&parts) {
            let whole = reduction.together(function, after, part, sharing);
            replacement.set(reduction.leaves_as(counted), Some(whole));
        }
        if shared && stores {
            barrier(function, after);
        }
        let exit_args: Vec<Value> = exit_args
            .iter()
            .map(|&arg| replacement[arg].unwrap_or(arg))
            .collect();
        jump(function, after, counted.exit, &exit_args);
        for block in function.blocks().to_vec() {
            if counted.found.blocks.contains(&block) || [ask, body, after].contains(&block) {
                continue;
            }
            for inst in function.insts(block).to_vec() {
                function.map_operands(inst, |value| replacement[value].unwrap_or(value));
            }
        }
    }
}

/// The edge out of a loop: its target and arguments.
fn exit_edge(function: &Function, counted: &Counted) -> (Block, Vec<Value>) {
    let mut args = Vec::new();
    if let Some(terminator) = function.terminator(counted.test.block) {
        function.for_each_target(terminator, |call| {
            if call.block == counted.exit {
                args = function.list_values(call.args).to_vec();
            }
        });
    }
    (counted.exit, args)
}

/// Makes a test before the body one that never leaves the loop.
fn always_stay(function: &mut Function, counted: &Counted, test: Block) {
    let Some(terminator) = function.terminator(test) else {
        return;
    };
    let mut stay = None;
    function.for_each_target(terminator, |call| {
        if call.block != counted.exit {
            stay = Some(call);
        }
    });
    if let Some(target) = stay {
        *function.inst_mut(terminator) = InstData::Jump { target };
    }
}

/// Values made in a loop that are used behind it.
fn leaving(function: &Function, counted: &Counted) -> Vec<Value> {
    let mut found = Vec::new();
    for &block in function.blocks() {
        let inside = counted.found.blocks.contains(&block);
        for &inst in function.insts(block) {
            if !inside {
                function.for_each_operand(inst, |value| {
                    if counted.makes(function, value) {
                        found.push(value);
                    }
                });
            }
        }
    }
    let (_, args) = exit_edge(function, counted);
    found.extend(args.into_iter().filter(|&arg| counted.makes(function, arg)));
    found
}

fn widened(function: &mut Function, block: Block, value: Value, ty: Type) -> Value {
    if function.ty(value) == ty {
        return value;
    }
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let op = if ty == Type::I64 {
        assay_ssa::CastOp::ZExt
    } else {
        assay_ssa::CastOp::Trunc
    };
    builder.cast(op, value, ty, Flags::NONE)
}

/// What an induction variable is in a round.
fn at_round(
    function: &mut Function,
    block: Block,
    round: Value,
    induction: &assay_ssa::analysis::Induction,
) -> Value {
    let ty = function.ty(induction.param);
    let mut round = round;
    if function.ty(round) != ty {
        let wide = function.ty(round) == Type::I64;
        let mut builder = Builder::new(function);
        builder.switch_to(block);
        let op = if wide {
            assay_ssa::CastOp::Trunc
        } else {
            assay_ssa::CastOp::ZExt
        };
        round = builder.cast(op, round, ty, Flags::NONE);
    }
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let step = builder.constant(ty, induction.step as u64);
    let grown = builder.binary(BinaryOp::Mul, round, step, Flags::NONE);
    builder.binary(BinaryOp::Add, induction.init, grown, Flags::NONE)
}

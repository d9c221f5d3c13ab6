//! A counted loop spread over the lanes of a simdgroup.

use super::counted::{Counted, stride};
use super::edit::{branch, jump};
use super::reduction::{Reduction, Sharing, extreme, inner_uses};
use super::simdgroup_rows::{barrier, is_private};
use assay_ssa::{
    BinaryOp, Block, Builder, Flags, FloatCond, Function, IdMap, Inst, InstData, IntCond, Space,
    Type, Value,
};

/// Elements of a row that one round may read in several accesses.
const NEIGHBOURS: u32 = 4;

/// How a loop is spread over lanes.
pub(super) struct Plan {
    /// The loop.
    pub(super) counted: Counted,
    /// What it reduces.
    pub(super) reductions: Vec<Reduction>,
    /// What is chosen together with a reduction.
    followers: Vec<Follower>,
    /// It reads consecutive memory.
    pub(super) consecutive: bool,
}

/// A whole number that is taken where a new largest or smallest is, as its place.
struct Follower {
    param: Value,
    next: Value,
    /// Which reduction it follows.
    leader: usize,
}

impl Plan {
    /// The plan for a loop, if its rounds do not depend on each other but by reductions.
    pub(super) fn of(function: &Function, counted: Counted) -> Option<Plan> {
        let header = counted.found.header;
        let mut reductions = Vec::new();
        let mut others = Vec::new();
        for &param in function.params(header) {
            let induction = counted.inductions.iter().any(|i| i.param == param);
            if !induction {
                match Reduction::of(function, &counted, param) {
                    Some(reduction) => reductions.push(reduction),
                    None => others.push(param),
                }
            }
        }
        let followers: Option<Vec<Follower>> = others
            .into_iter()
            .map(|param| Follower::of(function, &counted, param, &reductions))
            .collect();
        let followers = followers?;
        let watched = |(at, reduction): (usize, &Reduction)| {
            let others = followers.iter().filter(|follower| follower.leader == at);
            reduction.is_watched_by(function, &counted, others.count())
        };
        if !reductions.iter().enumerate().all(watched) {
            return None;
        }
        let leaves = leaving(function, &counted);
        let exits = |value: &Value| {
            let mut all = reductions.iter();
            let mut chosen = followers.iter();
            all.any(|reduction| reduction.leaves_as(&counted) == *value)
                || chosen.any(|follower| follower.leaves_as(&counted) == *value)
                || counted
                    .inductions
                    .iter()
                    .any(|i| counted.leaves_as(i) == *value)
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
            followers,
            consecutive,
        })
    }

    /// Reductions that others follow.
    fn leaders(&self) -> Vec<usize> {
        let mut leaders: Vec<usize> = self.followers.iter().map(|f| f.leader).collect();
        leaders.sort_unstable();
        leaders.dedup();
        leaders
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
        // What counts has its last number behind the loop.
        let leaves = leaving(function, counted);
        let mut ends = Vec::new();
        for induction in &counted.inductions {
            let last = counted.leaves_as(induction);
            if leaves.contains(&last) {
                ends.push((last, at_round(function, pre, rounds, induction)));
            }
        }
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
        let mut chosen = Vec::new();
        for follower in &self.followers {
            let place = params.iter().position(|&param| param == follower.param);
            let Some(&init) = place.and_then(|place| given.get(place)) else {
                continue;
            };
            chosen.push(function.add_param(ask, function.ty(follower.param)));
            start.push(init);
        }
        let leaders = self.leaders();
        let mut taken = Vec::new();
        for &leader in &leaders {
            let last = self.reductions[leader].takes_last();
            taken.push(function.add_param(ask, Type::I32));
            start.push(function.constant(Type::I32, never(last)));
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
            let choice = self.followers.iter().position(|f| f.param == param);
            enter.push(match (induction, part, choice) {
                (_, _, Some(choice)) => chosen[choice],
                (_, Some(part), _) => parts[part],
                (Some(induction), ..) => at_round(function, body, round, induction),
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
        again.extend(self.followers.iter().map(|follower| follower.next));
        for (&leader, &taken) in leaders.iter().zip(&taken) {
            let reduction = &self.reductions[leader];
            again.push(when_taken(function, latch, reduction, round, taken));
        }
        if !counted.tested_behind {
            always_stay(function, counted, test);
        }
        jump(function, latch, ask, &again);
        // Behind the loop the parts are put together.
        let mut replacement = IdMap::with_len(None, function.num_values());
        for (last, end) in ends {
            replacement.set(last, Some(end));
        }
        for (reduction, &part) in self.reductions.iter().zip(&parts) {
            let whole = reduction.together(function, after, part, sharing);
            replacement.set(reduction.leaves_as(counted), Some(whole));
        }
        for (&leader, &taken) in leaders.iter().zip(&taken) {
            let reduction = &self.reductions[leader];
            let whole = replacement[reduction.leaves_as(counted)].unwrap_or(parts[leader]);
            let winner = winner(
                function,
                after,
                [parts[leader], whole, taken],
                reduction.takes_last(),
                sharing,
            );
            for (follower, &own) in self.followers.iter().zip(&chosen) {
                if follower.leader == leader {
                    let nothing = function.constant(Type::I32, u64::from(u32::MAX));
                    let mut builder = Builder::new(function);
                    builder.switch_to(after);
                    let offered = builder.select(winner, own, nothing, Flags::NONE);
                    let whole = extreme(function, after, offered, false, sharing);
                    replacement.set(follower.leaves_as(counted), Some(whole));
                }
            }
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

impl Follower {
    /// How a parameter follows one of the reductions, if it does.
    fn of(
        function: &Function,
        counted: &Counted,
        param: Value,
        reductions: &[Reduction],
    ) -> Option<Follower> {
        let header = counted.found.header;
        let place = function.params(header).iter().position(|&p| p == param)?;
        let next = *counted.passed(function, counted.latch).get(place)?;
        let leader = reductions
            .iter()
            .position(|reduction| reduction.leads(function, next, param))?;
        // The number of a round is a whole number of 32 bits, too.
        let whole = [param, counted.test.induction.param];
        let is_whole = whole.iter().all(|&value| function.ty(value) == Type::I32);
        // Nothing but the choice looks at it while the loop runs.
        let uses = inner_uses(function, counted);
        let alone = uses(param) == 1 && uses(next) == 1;
        (is_whole && alone).then_some(Follower {
            param,
            next,
            leader,
        })
    }

    /// The value that is used behind the loop.
    fn leaves_as(&self, counted: &Counted) -> Value {
        if counted.tested_behind {
            self.next
        } else {
            self.param
        }
    }
}

/// What says that nothing was taken, in the order of rounds: the last, or the first if the last of equals counts.
const fn never(last: bool) -> u64 {
    if last { 0 } else { u32::MAX as u64 }
}

/// The round in which a lane took what it has; one more where the last of equals counts.
fn when_taken(
    function: &mut Function,
    latch: Block,
    reduction: &Reduction,
    round: Value,
    before: Value,
) -> Value {
    let Some((cond, when_true)) = reduction.taken() else {
        return before;
    };
    let mut builder = Builder::new(function);
    builder.switch_to(latch);
    let mut now = round;
    if reduction.takes_last() {
        let one = builder.i32(1);
        now = builder.binary(BinaryOp::Add, round, one, Flags::NONE);
    }
    let (then, otherwise) = if when_true {
        (now, before)
    } else {
        (before, now)
    };
    builder.select(cond, then, otherwise, Flags::NONE)
}

/// Returns true in the lanes that took the best of all first, or last.
fn winner(
    function: &mut Function,
    block: Block,
    [part, whole, taken]: [Value; 3],
    last: bool,
    sharing: Sharing,
) -> Value {
    let nothing = function.constant(Type::I32, never(last));
    let float = function.ty(part).is_float();
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let best = if float {
        builder.fcmp(FloatCond::Oeq, part, whole, Flags::NONE)
    } else {
        builder.icmp(IntCond::Eq, part, whole)
    };
    let own = builder.select(best, taken, nothing, Flags::NONE);
    let first = extreme(function, block, own, last, sharing);
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    builder.icmp(IntCond::Eq, own, first)
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

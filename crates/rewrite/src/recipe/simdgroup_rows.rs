//! Gives each row a simdgroup in place of a thread.
//!
//! ## What it does
//! Where one thread walks along a row (a sum, a maximum, a scaling), the 32 lanes of a simdgroup walk along it together:
//! lane l takes every 32nd element from the l-th on. What the loop adds up, lanes add up each for itself, and `simd_sum`
//! (`simd_max`, …) puts the parts together. Everything outside such loops is done by all lanes alike, and stored by the
//! first.
//!
//! ## When it applies
//! To kernels whose threads are independent (see `threadgroup`), with an innermost counted loop that reduces and reads
//! consecutive memory. Loops with other carried values are left as they are.
//!
//! ## When it hurts
//! Rows shorter than 32 elements leave lanes idle. It pays where rows are long: threads that each walk along a row of
//! their own read memory a row apart, lanes that walk together read one line.
//!
//! ## Example
//! `simdgroup-rows:rows=8` on a softmax with one thread per row: threadgroups of 256 threads for eight rows each.
//!
//! Sums of floats are added in another order; integers, minima and maxima are bit-identical.

use super::counted::{self, Counted, stride};
use super::geometry::{plain_number, product};
use super::{
    Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step, independent, jam,
    positions, reduction,
};
use assay_launch::Formula;
use assay_launch::template::Grid;
use assay_ssa::{
    AtomicOp, BinaryOp, Block, Builder, Builtin, Flags, Function, IdMap, Inst, InstData, IntCond,
    Space, Type, Value,
};
use reduction::Reduction;
use std::collections::HashSet;

pub(super) const RECIPE: Recipe = Recipe {
    id: "simdgroup-rows",
    class: Class::Reassociating,
    usage: "rows=ROWS",
    parameters: &[Parameter::Number("rows")],
    file: include_str!("simdgroup_rows.rs"),
    apply,
    propose,
};

/// Lanes of a simdgroup.
const LANES: u32 = 32;

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let rows = step.number("rows").unwrap_or(4);
    if rows == 0 || rows > 32 {
        return refuse(RefusalKind::Limit, "a threadgroup has 1 to 32 simdgroups");
    }
    let mut function = independent::threads(candidate)?;
    if positions::used_as_vector(&function) {
        return refuse(RefusalKind::Positions, "a position is used as a vector");
    }
    if !positions::read(&function).contains(&(Builtin::ThreadPositionInGrid, 0)) {
        return refuse(
            RefusalKind::NothingToDo,
            "the program does not depend on the position along x",
        );
    }
    let mut grid = candidate.geometry.grid_threads();
    if plain_number(&grid[0]).is_some_and(|rows| rows > u64::from(u32::MAX / LANES)) {
        return refuse(RefusalKind::Geometry, "there are too many rows");
    }
    atomics(&function)?;
    let class = distribute(&mut function)?;
    jam::tidy(&candidate.module, &mut function);
    grid[0] = product(&grid[0], &Formula::number(u64::from(LANES)));
    let mut geometry = candidate.geometry.clone();
    geometry.grid = Grid::Threads(grid);
    geometry.threadgroup = [rows * LANES, 1, 1].map(|n| Formula::number(u64::from(n)));
    let mut made = candidate.with(function, geometry)?;
    made.allow(rows * LANES);
    Ok(Applied {
        candidate: made,
        class,
    })
}

fn propose(_: &Candidate) -> Vec<Step> {
    let rows = [1, 4, 8].into_iter();
    rows.filter_map(|rows| Step::new(RECIPE.id, &[("rows", rows)]))
        .collect()
}

/// Refuses atomic operations that would not be done exactly as often, or whose outcome depends on order.
fn atomics(function: &Function) -> Result<(), Refusal> {
    let uses = function.use_counts();
    let refuse = |why: &str| Err(Refusal::new(RefusalKind::Atomics, why));
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            match *function.inst(inst) {
                InstData::AtomicRmw { op, .. }
                    if op.is_float()
                        || op == AtomicOp::Exchange
                        || function.result(inst).is_some_and(|value| uses[value] > 0) =>
                {
                    return refuse("an atomic operation adds floats, or its old value is used");
                }
                InstData::AtomicCompareExchange { .. } => {
                    return refuse("threads compare and exchange atomically");
                }
                InstData::Load { access, .. } | InstData::Store { access, .. }
                    if access.is_atomic() || access.volatile =>
                {
                    return refuse("memory is read or written atomically");
                }
                InstData::MemCopy { dst, .. } | InstData::MemSet { dst, .. }
                    if function.ty(dst).space() != Some(Space::Thread) =>
                {
                    let why = "memory is copied in one piece";
                    return Err(Refusal::new(RefusalKind::Access, why));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Rewrites the function for lanes, and says what that does to its result.
fn distribute(function: &mut Function) -> Result<Class, Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = function.entry().ok_or_else(malformed)?;
    let plans: Vec<Plan> = counted::innermost(function)
        .into_iter()
        .filter_map(|found| Plan::of(function, found))
        .collect();
    let useful = plans
        .iter()
        .any(|plan| !plan.reductions.is_empty() && plan.consecutive);
    if !useful {
        return counted::refuse("no loop reduces a row of consecutive memory");
    }
    let exact = plans
        .iter()
        .all(|plan| plan.reductions.iter().all(Reduction::is_exact));
    let shared = reads_what_it_writes(function);
    let lane = row_and_lane(function, entry);
    let inside = plans.iter().flat_map(|plan| &plan.counted.found.blocks);
    let spread: HashSet<Block> = inside.copied().collect();
    first_lane_stores(function, &spread, lane, shared);
    for plan in &plans {
        // Blocks have been split and values replaced since.
        let header = plan.counted.found.header;
        let mut now = counted::innermost(function).into_iter();
        let now = now.find(|counted| counted.found.header == header);
        let plan = now.and_then(|counted| Plan::of(function, counted));
        let lost = || Refusal::new(RefusalKind::Control, "a loop has lost its form");
        plan.ok_or_else(lost)?.rewrite(function, lane, shared);
    }
    Ok(if exact {
        Class::Exact
    } else {
        Class::Reassociating
    })
}

/// Puts the row in the place of the position along x, and returns the lane.
fn row_and_lane(function: &mut Function, entry: Block) -> Value {
    let mut old = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if let Some(value) = function.result(inst)
                && !matches!(function.inst(inst), InstData::Cast { .. })
                && let Some((builtin, 0)) = positions::position(function, value)
                && matches!(
                    builtin,
                    Builtin::ThreadPositionInGrid | Builtin::ThreadsPerGrid | Builtin::GridSize
                )
            {
                old.push((value, builtin));
            }
        }
    }
    let mut replacement = IdMap::with_len(None, function.num_values());
    let rest = function.take_insts(entry);
    let mut builder = Builder::new(function);
    builder.switch_to(entry);
    let zero = builder.i32(0);
    let lane = builder.builtin(Builtin::ThreadIndexInSimdgroup.call(), &[], Type::I32);
    let lane = lane.unwrap_or(zero);
    for (value, builtin) in old {
        let ty = builder.function().ty(value);
        let vector = Type::vector(assay_ssa::Scalar::I32, 3);
        let nothing = builder.function().zero(vector);
        let read = builder.builtin(builtin.call(), &[], vector);
        let read = builder.extract_lane(read.unwrap_or(nothing), 0);
        let shift = builder.i32(LANES.ilog2() as i32);
        let mut row = builder.binary(BinaryOp::LShr, read, shift, Flags::NONE);
        if ty == Type::I64 {
            row = builder.cast(assay_ssa::CastOp::ZExt, row, ty, Flags::NONE);
        } else if ty != Type::I32 {
            row = builder.cast(assay_ssa::CastOp::Trunc, row, ty, Flags::NONE);
        }
        replacement.set(value, Some(row));
    }
    rest.into_iter()
        .for_each(|inst| function.append(entry, inst));
    function.replace_values(&replacement);
    lane
}

/// Returns true if something may be read that the kernel writes, other than by the thread that wrote it.
fn reads_what_it_writes(function: &Function) -> bool {
    let mut loads = Vec::new();
    let mut stores = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            match *function.inst(inst) {
                InstData::Load { ptr, access } if !is_private(function, ptr) => {
                    loads.push(access.alias);
                }
                InstData::Store { ptr, access, .. } if !is_private(function, ptr) => {
                    stores.push(access.alias);
                }
                _ => {}
            }
        }
    }
    let clash = |&store: &_| loads.iter().any(|&load| function.may_alias(store, load));
    stores.iter().any(clash)
}

/// Returns true if no other thread sees what a pointer points at, or nothing writes it.
fn is_private(function: &Function, pointer: Value) -> bool {
    matches!(
        function.ty(pointer).space(),
        Some(Space::Thread | Space::Constant)
    )
}

/// Leaves stores outside loops that are spread over lanes to the first lane.
fn first_lane_stores(function: &mut Function, spread: &HashSet<Block>, lane: Value, shared: bool) {
    for block in function.blocks().to_vec() {
        if spread.contains(&block) {
            continue;
        }
        let insts = function.take_insts(block);
        let mut current = block;
        for inst in insts {
            let writes = match *function.inst(inst) {
                InstData::Store { ptr, .. } => !is_private(function, ptr),
                InstData::AtomicRmw { .. } => true,
                _ => false,
            };
            if !writes {
                function.append(current, inst);
                continue;
            }
            if shared {
                barrier(function, current);
            }
            let (store, after) = (function.add_block(), function.add_block());
            let mut builder = Builder::new(function);
            builder.switch_to(current);
            let zero = builder.i32(0);
            let first = builder.icmp(IntCond::Eq, lane, zero);
            branch(function, current, first, store, after);
            function.append(store, inst);
            jump(function, store, after, &[]);
            if shared {
                barrier(function, after);
            }
            current = after;
        }
    }
}

/// Lanes of a simdgroup wait for each other's accesses of device memory.
fn barrier(function: &mut Function, block: Block) {
    let mut builder = Builder::new(function);
    builder.switch_to(block);
    let device = builder.i32(assay_ssa::BarrierMemory::DEVICE as i32);
    let scope = builder.i32(4);
    builder.builtin(
        Builtin::SimdgroupBarrier.call(),
        &[device, scope],
        Type::VOID,
    );
}

fn jump(function: &mut Function, from: Block, to: Block, args: &[Value]) {
    let target = function.block_call(to, args);
    let inst = function.make_inst(InstData::Jump { target }, Type::VOID, None);
    function.append(from, inst);
}

fn branch(function: &mut Function, from: Block, cond: Value, then: Block, otherwise: Block) {
    let then = function.block_call(then, &[]);
    let otherwise = function.block_call(otherwise, &[]);
    let data = InstData::Branch {
        cond,
        then,
        otherwise,
    };
    let inst = function.make_inst(data, Type::VOID, None);
    function.append(from, inst);
}

/// How a loop is spread over lanes.
struct Plan {
    counted: Counted,
    reductions: Vec<Reduction>,
    /// It reads consecutive memory.
    consecutive: bool,
}

impl Plan {
    /// The plan for a loop, if its rounds do not depend on each other but by reductions.
    fn of(function: &Function, counted: Counted) -> Option<Plan> {
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
                        consecutive |= step == Some(i64::from(bytes * lanes));
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

    /// Rewrites the loop: `for (k = lane; k < rounds; k += 32)`.
    fn rewrite(&self, function: &mut Function, lane: Value, shared: bool) {
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
        let lanes = builder.constant(ty, u64::from(LANES));
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
            let whole = reduction.together(function, after, part);
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

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
//! consecutive memory: upwards or downwards, by numbers or by pointers, several elements a round, vectors, sums under a
//! condition, maxima by comparison, and their places (argmax). Loops with other carried values are left as they are.
//!
//! ## When it hurts
//! Rows shorter than 32 elements leave lanes idle. It pays where rows are long: threads that each walk along a row of
//! their own read memory a row apart, lanes that walk together read one line.
//!
//! ## Example
//! `simdgroup-rows:rows=8` on a softmax with one thread per row: threadgroups of 256 threads for eight rows each.
//!
//! Sums of floats are added in another order; integers, minima and maxima are bit-identical.

use super::counted;
use super::edit::{add_preheaders, branch, jump};
use super::geometry::{plain_number, product};
use super::reduction::{Reduction, Sharing};
use super::spread_loop::Plan;
use super::{
    Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step, independent, jam,
    positions,
};
use assay_launch::Formula;
use assay_launch::template::Grid;
use assay_ssa::{
    AtomicOp, BinaryOp, Block, Builder, Builtin, Flags, Function, IdMap, InstData, IntCond, Space,
    Type, Value,
};
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
pub(super) const LANES: u32 = 32;

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let rows = step.number("rows").unwrap_or(4);
    if rows == 0 || rows > 32 {
        return refuse(RefusalKind::Limit, "a threadgroup has 1 to 32 simdgroups");
    }
    let mut function = independent::counting_threads(candidate)?;
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
pub(super) fn atomics(function: &Function) -> Result<(), Refusal> {
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
    add_preheaders(function);
    let plans: Vec<Plan> = counted::countable(function)
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
        let mut now = counted::countable(function).into_iter();
        let now = now.find(|counted| counted.found.header == header);
        let plan = now.and_then(|counted| Plan::of(function, counted));
        let lost = || Refusal::new(RefusalKind::Control, "a loop has lost its form");
        plan.ok_or_else(lost)?
            .rewrite(function, lane, Sharing::SIMDGROUP, shared);
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
pub(super) fn reads_what_it_writes(function: &Function) -> bool {
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
pub(super) fn is_private(function: &Function, pointer: Value) -> bool {
    matches!(
        function.ty(pointer).space(),
        Some(Space::Thread | Space::Constant)
    )
}

/// Leaves stores outside loops that are spread over lanes to the first lane.
pub(super) fn first_lane_stores(
    function: &mut Function,
    spread: &HashSet<Block>,
    lane: Value,
    shared: bool,
) {
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
pub(super) fn barrier(function: &mut Function, block: Block) {
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

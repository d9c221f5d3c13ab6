//! Splits a reduction between lanes that stand beside each other in other columns.
//!
//! ## What it does
//! Where one thread walks down a column (a sum of rows, `x[r * columns + column]`), two to sixteen lanes of its simdgroup walk
//! down it together: of 32 lanes each 32 / parts columns have their part of the rows. What the loop adds up, lanes add up each
//! for itself, and exchange it at the end (`simd_shuffle_xor`). Everything outside such loops is done by all parts alike, and
//! stored by the first.
//!
//! ## When it applies
//! To kernels whose threads are independent (see `threadgroup`), with an innermost counted loop that reduces. Positions behind
//! the end of the grid compute with the last one and store nothing.
//!
//! ## When it hurts
//! Where there are threads enough to fill the chip already. Many parts make the columns of an access few: a line of memory is
//! then read in pieces. Rows of consecutive memory are the business of `simdgroup-rows`.
//!
//! ## Example
//! `split-loop:parts=4` on the sum of each of 512 columns: 2,048 threads in place of 512.
//!
//! Sums of floats are added in another order; integers, minima and maxima are bit-identical.

use super::arguments;
use super::counted;
use super::edit::add_preheaders;
use super::geometry::{ceil_div, plain_number, product};
use super::reduction::{Reduction, Sharing};
use super::simdgroup_rows::{LANES, atomics, first_lane_stores, reads_what_it_writes};
use super::spread_loop::Plan;
use super::{
    Applied, Candidate, Class, Geometry, Parameter, Recipe, Refusal, RefusalKind, Step,
    independent, jam, positions,
};
use assay_launch::Formula;
use assay_launch::template::Grid;
use assay_ssa::{
    BinaryOp, Block, Builder, Builtin, CastOp, Flags, Function, IdMap, InstData, IntCond, Kernel,
    Type, Value,
};
use std::collections::HashSet;

pub(super) const RECIPE: Recipe = Recipe {
    id: "split-loop",
    class: Class::Reassociating,
    usage: "parts=PARTS",
    parameters: &[Parameter::Number("parts")],
    file: include_str!("split_loop.rs"),
    apply,
    propose,
};

/// Threads of a threadgroup: few, as such grids are small.
const THREADS: u32 = 2 * LANES;

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let parts = step.number("parts").unwrap_or(4);
    if !(2..=16).contains(&parts) || !parts.is_power_of_two() {
        return refuse(RefusalKind::Parameter, "the parts are 2, 4, 8 or 16");
    }
    let mut function = independent::counting_threads(candidate)?;
    if positions::used_as_vector(&function) {
        return refuse(RefusalKind::Positions, "a position is used as a vector");
    }
    let read = positions::read(&function);
    if !read.contains(&(Builtin::ThreadPositionInGrid, 0)) {
        return refuse(
            RefusalKind::NothingToDo,
            "the program does not depend on the position along x",
        );
    }
    if [Builtin::ThreadsPerGrid, Builtin::GridSize]
        .iter()
        .any(|size| read.contains(&(*size, 0)))
    {
        return refuse(
            RefusalKind::Positions,
            "the program depends on the size of the grid along x",
        );
    }
    atomics(&function)?;
    let extent = candidate.geometry.grid_threads()[0].clone();
    let columns = LANES / parts;
    if plain_number(&extent).is_some_and(|extent| extent > u64::from(u32::MAX / LANES)) {
        return refuse(RefusalKind::Geometry, "there are too many threads");
    }
    let mut made = candidate.clone();
    let mut kernel = candidate.declaration()?.clone();
    let class = split(
        &mut function,
        &mut kernel,
        &mut made.geometry,
        &extent,
        parts,
    )?;
    jam::tidy(&candidate.module, &mut function);
    let mut grid = candidate.geometry.grid_threads();
    grid[0] = product(
        &ceil_div(&extent, columns),
        &Formula::number(u64::from(LANES)),
    );
    made.geometry.grid = Grid::Threads(grid);
    made.geometry.threadgroup = [THREADS, 1, 1].map(|n| Formula::number(u64::from(n)));
    made.replace(kernel, function)?;
    made.allow(THREADS);
    Ok(Applied {
        candidate: made,
        class,
    })
}

fn propose(_: &Candidate) -> Vec<Step> {
    let parts = [4, 8, 2, 16].into_iter();
    parts
        .filter_map(|parts| Step::new(RECIPE.id, &[("parts", parts)]))
        .collect()
}

/// Splits the loops of a function, and says what that does to its result.
fn split(
    function: &mut Function,
    kernel: &mut Kernel,
    geometry: &mut Geometry,
    extent: &Formula,
    parts: u32,
) -> Result<Class, Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = function.entry().ok_or_else(malformed)?;
    add_preheaders(function);
    let plans = |function: &Function| -> Vec<Plan> {
        let loops = counted::countable(function).into_iter();
        loops
            .filter_map(|found| Plan::of(function, found))
            .collect()
    };
    let found = plans(function);
    if !found.iter().any(|plan| !plan.reductions.is_empty()) {
        return counted::refuse("no loop reduces anything");
    }
    let exact = found
        .iter()
        .all(|plan| plan.reductions.iter().all(Reduction::is_exact));
    let shared = reads_what_it_writes(function);
    let place = place(function, entry, kernel, geometry, extent, parts)?;
    let inside = found.iter().flat_map(|plan| &plan.counted.found.blocks);
    let spread: HashSet<Block> = inside.copied().collect();
    first_lane_stores(function, &spread, place.leader, shared);
    let sharing = Sharing {
        lanes: parts,
        stride: LANES / parts,
    };
    for plan in &found {
        // Blocks have been split and values replaced since.
        let header = plan.counted.found.header;
        let mut now = plans(function).into_iter();
        let now = now.find(|plan| plan.counted.found.header == header);
        let lost = || Refusal::new(RefusalKind::Control, "a loop has lost its form");
        now.ok_or_else(lost)?
            .rewrite(function, place.part, sharing, shared);
    }
    Ok(if exact {
        Class::Exact
    } else {
        Class::Reassociating
    })
}

/// Where a thread stands among those that share its loops.
struct Place {
    /// Which part of the rounds is its own.
    part: Value,
    /// Zero for the one that stores.
    leader: Value,
}

/// Puts the column in the place of the position along x.
fn place(
    function: &mut Function,
    entry: Block,
    kernel: &mut Kernel,
    geometry: &mut Geometry,
    extent: &Formula,
    parts: u32,
) -> Result<Place, Refusal> {
    let mut old = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            if let Some(value) = function.result(inst)
                && !matches!(function.inst(inst), InstData::Cast { .. })
                && let Some((Builtin::ThreadPositionInGrid, 0)) =
                    positions::position(function, value)
            {
                old.push(value);
            }
        }
    }
    let columns = LANES / parts;
    let rest = function.take_insts(entry);
    let whole = plain_number(extent).is_some_and(|extent| extent % u64::from(columns) == 0);
    let number = match whole {
        true => None,
        false => Some(arguments::number(
            function, kernel, geometry, extent, "grid_x",
        )?),
    };
    let mut builder = Builder::new(function);
    builder.switch_to(entry);
    let vector = Type::vector(assay_ssa::Scalar::I32, 3);
    let nothing = builder.function().zero(vector);
    let read = builder.builtin(Builtin::ThreadPositionInGrid.call(), &[], vector);
    let thread = builder.extract_lane(read.unwrap_or(nothing), 0);
    let zero = builder.i32(0);
    let lane = builder.builtin(Builtin::ThreadIndexInSimdgroup.call(), &[], Type::I32);
    let lane = lane.unwrap_or(zero);
    let (by_group, by_part) = (LANES.ilog2() as i32, columns.ilog2() as i32);
    let shift = builder.i32(by_group);
    let group = builder.binary(BinaryOp::LShr, thread, shift, Flags::NONE);
    let shift = builder.i32(by_part);
    let first = builder.binary(BinaryOp::Shl, group, shift, Flags::NONE);
    let mask = builder.i32(columns as i32 - 1);
    let own = builder.binary(BinaryOp::And, lane, mask, Flags::NONE);
    let part = builder.binary(BinaryOp::LShr, lane, shift, Flags::NONE);
    let mut column = builder.binary(BinaryOp::Add, first, own, Flags::NONE);
    let mut leader = part;
    if let Some(number) = number {
        let inside = builder.icmp(IntCond::Ult, column, number);
        let one = builder.i32(1);
        let last = builder.binary(BinaryOp::Sub, number, one, Flags::NONE);
        column = builder.select(inside, column, last, Flags::NONE);
        leader = builder.select(inside, part, one, Flags::NONE);
    }
    let mut replacement = IdMap::with_len(None, builder.function().num_values());
    for value in old {
        let ty = builder.function().ty(value);
        let position = match ty {
            Type::I32 => column,
            Type::I64 => builder.cast(CastOp::ZExt, column, ty, Flags::NONE),
            _ => builder.cast(CastOp::Trunc, column, ty, Flags::NONE),
        };
        replacement.set(value, Some(position));
    }
    rest.into_iter()
        .for_each(|inst| function.append(entry, inst));
    function.replace_values(&replacement);
    Ok(Place { part, leader })
}

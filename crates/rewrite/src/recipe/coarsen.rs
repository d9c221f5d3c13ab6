//! Gives each thread the work of several along one axis.
//!
//! ## What it does
//! A thread computes two, four or eight results instead of one. Instructions that depend on the axis are repeated inside
//! one control flow; everything else is done once for all of them. `block` takes neighbours (thread t has
//! 4t … 4t + 3), `strided` takes results that are a grid apart, so that neighbouring threads still read neighbouring
//! memory. A result outside the grid, or behind a guard it does not pass, computes with the values of one inside and
//! stores nothing: no load is guarded.
//!
//! ## When it applies
//! To kernels whose threads are independent (see `threadgroup`) and whose loops run equally often along the axis. The
//! extent of the original grid is read from the argument that holds it, or from a new argument behind the others.
//!
//! ## When it hurts
//! Where the grid is small, fewer threads leave cores idle; registers grow with the factor. It pays where threads along
//! the axis read the same memory (a product of matrices) or repeat the same arithmetic, and hardly in streaming kernels.
//!
//! ## Example
//! `coarsen:x=4,strided` on the naive product of matrices reads each element of the left matrix once for four results.
//!
//! The result is bit-identical.

use super::geometry::{ceil_div, plain_number};
use super::jam::{self, Positions};
use super::{
    Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step, arguments,
    independent, positions,
};
use assay_launch::template::Grid;
use assay_ssa::{BinaryOp, Builder, Builtin, Flags, Function, IntCond, Value};

pub(super) const RECIPE: Recipe = Recipe {
    id: "coarsen",
    class: Class::Exact,
    usage: "x|y|z=FACTOR[,block|strided]",
    parameters: &[
        Parameter::Number("x"),
        Parameter::Number("y"),
        Parameter::Number("z"),
        Parameter::Word("block"),
        Parameter::Word("strided"),
    ],
    file: include_str!("coarsen.rs"),
    apply,
    propose,
};

/// The largest factor.
const MOST: u32 = 16;

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let (axis, factor) = parameters(step)?;
    let source = independent::counting_threads(candidate)?;
    let read = positions::read(&source);
    if !read.contains(&(Builtin::ThreadPositionInGrid, axis)) {
        let why = format!(
            "the program does not depend on the position along {}",
            super::AXES[axis]
        );
        return Err(Refusal::new(RefusalKind::NothingToDo, &why));
    }
    let extent = candidate.geometry.grid_threads()[axis].clone();
    if plain_number(&extent).is_some_and(|extent| extent < u64::from(factor)) {
        let why = format!(
            "the grid has less than {factor} threads along {}",
            super::AXES[axis]
        );
        return Err(Refusal::new(RefusalKind::Geometry, &why));
    }
    let mut made = candidate.clone();
    let mut kernel = candidate.declaration()?.clone();
    let mut target = source.clone();
    only_entry(&mut target);
    let whole = plain_number(&extent).is_some_and(|extent| extent % u64::from(factor) == 0);
    let sized = read.contains(&(Builtin::ThreadsPerGrid, axis))
        || read.contains(&(Builtin::GridSize, axis));
    let name = format!("grid_{}", super::AXES[axis]);
    let number = if whole && !sized {
        None
    } else {
        let geometry = &mut made.geometry;
        Some(arguments::number(
            &mut target,
            &mut kernel,
            geometry,
            &extent,
            &name,
        )?)
    };
    let places = places(&mut target, step, axis, factor, number.filter(|_| !whole))?;
    let places = Positions {
        extent: number,
        ..places
    };
    let function = jam::jam(&candidate.module, &source, target, &places)?;
    let mut grid = candidate.geometry.grid_threads();
    grid[axis] = ceil_div(&extent, factor);
    made.geometry.grid = Grid::Threads(grid);
    made.replace(kernel, function)?;
    Ok(Applied {
        candidate: made,
        class: Class::Exact,
    })
}

fn parameters(step: &Step) -> Result<(usize, u32), Refusal> {
    let refuse = |why: &str| Err(Refusal::new(RefusalKind::Parameter, why));
    let given: Vec<(usize, u32)> = (0..3)
        .filter_map(|axis| Some((axis, step.number(super::AXES[axis])?)))
        .collect();
    let &[(axis, factor)] = given.as_slice() else {
        return refuse("name one axis and a factor, as in coarsen:x=4");
    };
    if !(2..=MOST).contains(&factor) || !factor.is_power_of_two() {
        return refuse("the factor is 2, 4, 8 or 16");
    }
    if step.has("block") && step.has("strided") {
        return refuse("say block or strided, not both");
    }
    Ok((axis, factor))
}

/// Leaves of a function its entry block alone, without instructions.
pub(super) fn only_entry(function: &mut Function) {
    let blocks = function.blocks().to_vec();
    for &block in &blocks {
        function.set_insts(block, Vec::new());
    }
    function.set_block_order(blocks.into_iter().take(1).collect());
}

/// The positions of a thread. `extent` is there if some may be outside the grid.
fn places(
    target: &mut Function,
    step: &Step,
    axis: usize,
    factor: u32,
    extent: Option<Value>,
) -> Result<Positions, Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = target.entry().ok_or_else(malformed)?;
    let thread = positions::read_axis(target, entry, Builtin::ThreadPositionInGrid, axis);
    let threads = positions::read_axis(target, entry, Builtin::ThreadsPerGrid, axis);
    let mut builder = Builder::new(target);
    builder.switch_to(entry);
    let count = builder.i32(factor as i32);
    let start = builder.binary(BinaryOp::Mul, thread, count, Flags::NUW);
    let mut each = vec![if step.has("strided") { thread } else { start }];
    let mut in_grid = vec![None];
    for place in 1..factor {
        let position = if step.has("strided") {
            let before = each[each.len() - 1];
            builder.binary(BinaryOp::Add, before, threads, Flags::NONE)
        } else {
            let place = builder.i32(place as i32);
            builder.binary(BinaryOp::Add, start, place, Flags::NUW)
        };
        each.push(position);
        in_grid.push(extent.map(|extent| builder.icmp(IntCond::Ult, position, extent)));
    }
    // A position outside follows the first, which is always inside.
    let first = each[0];
    for (position, inside) in each.iter_mut().zip(&in_grid) {
        if let Some(inside) = inside {
            *position = builder.select(*inside, *position, first, Flags::NONE);
        }
    }
    Ok(Positions {
        axis,
        each,
        in_grid,
        extent,
    })
}

fn propose(candidate: &Candidate) -> Vec<Step> {
    let extents = candidate.geometry.grid_threads();
    let mut steps = Vec::new();
    for (axis, extent) in super::AXES.into_iter().zip(&extents) {
        if plain_number(extent) == Some(1) {
            continue;
        }
        for factor in [2, 4, 8] {
            for order in ["block", "strided"] {
                steps.extend(Step::new(RECIPE.id, &[(axis, factor), (order, 1)]));
            }
        }
    }
    steps
}

//! Transposes the grid: what ran along one axis runs along another.
//!
//! ## What it does
//! Exchanges two axes of the grid and of every position the program reads. Threadgroups keep their shape, so the lanes of
//! a simdgroup run along the other axis afterwards.
//!
//! ## When it applies
//! To kernels whose threads are independent (see `threadgroup`) and that read positions along both axes, or along one of
//! them.
//!
//! ## When it hurts
//! Where neighbouring lanes read neighbouring memory already. It pays where they read far apart and threads along the
//! other axis would not: a column-walking map, a kernel with its indices the wrong way round.
//!
//! ## Example
//! `swap-axes:x,y` turns `x[g.x * width + g.y]`, a stride of `width` from lane to lane, into consecutive reads.
//!
//! The result is bit-identical.

use super::geometry::plain_number;
use super::{
    Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step, independent,
    positions,
};
use assay_launch::template::Grid;
use assay_ssa::{Builtin, Function, IdMap, InstData};

pub(super) const RECIPE: Recipe = Recipe {
    id: "swap-axes",
    class: Class::Exact,
    usage: "x,y|x,z|y,z",
    parameters: &[
        Parameter::Word("x"),
        Parameter::Word("y"),
        Parameter::Word("z"),
    ],
    file: include_str!("swap_axes.rs"),
    apply,
    propose,
};

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    let axes: Vec<usize> = (0..3).filter(|&axis| step.has(super::AXES[axis])).collect();
    let &[a, b] = axes.as_slice() else {
        return refuse(RefusalKind::Parameter, "name two axes, as in swap-axes:x,y");
    };
    let mut grid = candidate.geometry.grid_threads();
    if [a, b].map(|axis| plain_number(&grid[axis])) == [Some(1); 2] {
        return refuse(
            RefusalKind::NothingToDo,
            "the grid has no extent along either axis",
        );
    }
    let mut function = independent::threads(candidate)?;
    exchange(&mut function, a, b)?;
    grid.swap(a, b);
    let mut geometry = candidate.geometry.clone();
    geometry.grid = Grid::Threads(grid);
    Ok(Applied {
        candidate: candidate.with(function, geometry)?,
        class: Class::Exact,
    })
}

/// Exchanges two axes in every read of a position or size.
fn exchange(function: &mut Function, a: usize, b: usize) -> Result<(), Refusal> {
    let malformed = || Refusal::new(RefusalKind::Program, "the function has no entry");
    let entry = function.entry().ok_or_else(malformed)?;
    let mut found = Vec::new();
    for &block in function.blocks() {
        for &inst in function.insts(block) {
            let Some(value) = function.result(inst) else {
                continue;
            };
            let data = function.inst(inst);
            if matches!(data, InstData::Cast { .. }) {
                continue;
            }
            if let Some((builtin, axis)) = positions::position(function, value) {
                let other = if axis == a { b } else { a };
                if (axis == a || axis == b) && builtin != Builtin::ThreadsPerSimdgroup {
                    found.push((value, builtin, other));
                }
            }
        }
    }
    if positions::used_as_vector(function) {
        let why = "a position is used as a vector";
        return Err(Refusal::new(RefusalKind::Positions, why));
    }
    let mut replacement = IdMap::with_len(None, function.num_values());
    for (old, builtin, axis) in found {
        let ty = function.ty(old);
        let new = positions::read_axis_as(function, entry, builtin, axis, ty);
        replacement.set(old, Some(new));
    }
    function.replace_values(&replacement);
    Ok(())
}

fn propose(candidate: &Candidate) -> Vec<Step> {
    let grid = candidate.geometry.grid_threads();
    let flat = |axis: usize| plain_number(&grid[axis]) == Some(1);
    let pairs = [(0, 1), (0, 2), (1, 2)];
    let worth = pairs.into_iter().filter(|&(a, b)| !flat(a) && !flat(b));
    let steps = worth
        .filter_map(|(a, b)| Step::new(RECIPE.id, &[(super::AXES[a], 1), (super::AXES[b], 1)]));
    steps.collect()
}

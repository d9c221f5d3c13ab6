//! Dispatches the same grid in threadgroups of another shape.
//!
//! ## What it does
//! Keeps the program and the number of threads and changes how they are grouped. A grid that is given in threadgroups is
//! given in threads afterwards.
//!
//! ## When it applies
//! To kernels whose threads do not work together: no barrier, no simdgroup operation, no threadgroup memory, and no
//! position but that in the grid. `threadgroup_position * threads_per_threadgroup + thread_position` is recognised as the
//! position in the grid.
//!
//! ## When it hurts
//! Large threadgroups leave cores idle at the end of a small grid; narrow ones (less than 32 threads along x) spread the
//! lanes of a simdgroup over rows, which helps where neighbouring rows share data and hurts where rows are read once.
//!
//! ## Example
//! `threadgroup:x=32,y=8` makes threadgroups of 256 threads, each simdgroup one row of 32.
//!
//! The result is bit-identical.

use super::{Applied, Candidate, Class, Parameter, Recipe, Refusal, RefusalKind, Step};
use super::{geometry, independent};
use assay_launch::Formula;
use assay_launch::template::Grid;

pub(super) const RECIPE: Recipe = Recipe {
    id: "threadgroup",
    class: Class::Exact,
    usage: "x=THREADS[,y=THREADS][,z=THREADS]",
    parameters: &[
        Parameter::Number("x"),
        Parameter::Number("y"),
        Parameter::Number("z"),
    ],
    file: include_str!("threadgroup.rs"),
    apply,
    propose,
};

/// The most threads of a threadgroup.
const MOST_THREADS: u64 = 1024;

/// Shapes worth trying along one axis, two and three.
const SHAPES: [&[[u32; 3]]; 3] = [
    &[
        [32, 1, 1],
        [64, 1, 1],
        [128, 1, 1],
        [256, 1, 1],
        [512, 1, 1],
        [1024, 1, 1],
    ],
    &[
        [32, 1, 1],
        [32, 2, 1],
        [32, 4, 1],
        [32, 8, 1],
        [32, 16, 1],
        [16, 16, 1],
        [8, 8, 1],
        [8, 32, 1],
        [64, 4, 1],
        [256, 1, 1],
    ],
    &[[32, 1, 1], [32, 8, 1], [8, 8, 4], [16, 4, 4], [256, 1, 1]],
];

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let shape = super::AXES.map(|axis| step.number(axis).unwrap_or(1));
    let refuse = |kind, why: &str| Err(Refusal::new(kind, why));
    if shape.contains(&0) {
        return refuse(
            RefusalKind::Parameter,
            "a threadgroup has at least one thread along each axis",
        );
    }
    let threads: u64 = shape.iter().map(|&n| u64::from(n)).product();
    if threads > MOST_THREADS {
        let why = format!("{threads} threads are more than a threadgroup may have");
        return refuse(RefusalKind::Limit, &why);
    }
    if candidate.geometry.plain_threadgroup() == Some(shape) {
        return refuse(
            RefusalKind::NothingToDo,
            "the threadgroup has this shape already",
        );
    }
    let function = independent::threads(candidate)?;
    let mut geometry = candidate.geometry.clone();
    geometry.grid = Grid::Threads(candidate.geometry.grid_threads());
    geometry.threadgroup = shape.map(|n| Formula::number(u64::from(n)));
    let mut made = candidate.with(function, geometry)?;
    made.allow(threads as u32);
    Ok(Applied {
        candidate: made,
        class: Class::Exact,
    })
}

fn propose(candidate: &Candidate) -> Vec<Step> {
    let grid = candidate.geometry.grid_threads();
    let flat = |axis: usize| geometry::plain_number(&grid[axis]) == Some(1);
    let axes = match (flat(1), flat(2)) {
        (true, true) => 1,
        (false, true) => 2,
        _ => 3,
    };
    let steps = SHAPES[axes - 1].iter().filter_map(|&[x, y, z]| {
        let given = [("x", x), ("y", y), ("z", z)];
        let given: Vec<_> = given
            .into_iter()
            .filter(|&(axis, n)| axis == "x" || n > 1)
            .collect();
        Step::new(RECIPE.id, &given)
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use crate::recipe::{Candidate, Geometry, RefusalKind, apply, choices};

    fn candidate(body: &str, grid: &str, threadgroup: &str) -> Candidate {
        let text = format!(
            "module \"m\"\n\
             kernel \"k\" f0 {{\n\
                 \"out\" buffer 0 param 0 space device write type \"float\" size 4 align 4\n}}\n\
             function f0 \"k\" -> void {{\n\
             b0(v0: ptr.device):\n{body}    return\n}}\n"
        );
        Candidate {
            module: assay_ssa::parse(&text).expect("a program"),
            kernel: "k".to_owned(),
            geometry: Geometry::threads(grid, threadgroup).expect("a geometry"),
        }
    }

    const BY_GROUP: &str = "    v1: i32 = call threadgroup_position_in_grid()\n\
        \x20   v2: i32 = call thread_position_in_threadgroup()\n\
        \x20   v3: i32 = mul v1, i32 64\n\
        \x20   v4: i32 = add v3, v2\n\
        \x20   v5: ptr.device = ptr_add v0 + zext v4 * 4\n\
        \x20   store v5, f32 0.5 align 4\n";

    #[test]
    fn a_position_put_together_is_the_position_in_the_grid_where_the_geometry_says_so() {
        let step = "threadgroup:x=128".parse().expect("a step");
        let applied = apply(&candidate(BY_GROUP, "N", "64"), &step).expect("it applies");
        let text = applied.candidate.print().expect("Metal");
        assert!(text.contains("thread_position_in_grid"), "{text}");
        let refusal = apply(&candidate(BY_GROUP, "N", "32"), &step).expect_err("a refusal");
        assert_eq!(refusal.kind, RefusalKind::Positions);
    }

    #[test]
    fn limits_and_shapes_that_change_nothing_are_refused() {
        let candidate = candidate(BY_GROUP, "N", "64");
        for (step, kind) in [
            ("threadgroup:x=2048", RefusalKind::Limit),
            ("threadgroup:x=64", RefusalKind::NothingToDo),
            ("threadgroup:x=0", RefusalKind::Parameter),
        ] {
            let step = step.parse().expect("a step");
            assert_eq!(apply(&candidate, &step).expect_err("a refusal").kind, kind);
        }
        let offered = choices(&candidate);
        let steps = offered[0].steps.as_ref().expect("shapes");
        assert!(
            steps
                .iter()
                .all(|step| step.to_string() != "threadgroup:x=64")
        );
    }
}

//! Blocks a kernel around one loop in registers and in threadgroup memory.
//!
//! ## What it does
//! `coarsen` along both axes and `stage` in one: a thread computes several rows and columns of results, and what a
//! threadgroup's threads share in the loop is read from device memory once. A value from threadgroup memory then serves
//! as many results as a thread has along the other axis.
//!
//! ## When it applies
//! Where `stage` does.
//!
//! ## When it hurts
//! Results take registers (rows × columns of them) and threads take a larger part of the grid: small grids leave cores
//! idle. It pays for contractions, products of matrices above all, whose sum must keep its order.
//!
//! ## Example
//! `block:x=16,y=8,columns=4,rows=4,k=16` on the naive product: tiles of 64 × 32 results, sixteen per thread.
//!
//! The result is bit-identical.

use super::stage::{Tile, tiled};
use super::{Applied, Candidate, Class, Parameter, Recipe, Refusal, Step};

pub(super) const RECIPE: Recipe = Recipe {
    id: "block",
    class: Class::Exact,
    usage: "x=THREADS,y=THREADS,columns=RESULTS,rows=RESULTS,k=ROUNDS",
    parameters: &[
        Parameter::Number("x"),
        Parameter::Number("y"),
        Parameter::Number("columns"),
        Parameter::Number("rows"),
        Parameter::Number("k"),
    ],
    file: include_str!("block.rs"),
    apply,
    propose,
};

fn apply(candidate: &Candidate, step: &Step) -> Result<Applied, Refusal> {
    let number = |name: &str, otherwise: u32| step.number(name).unwrap_or(otherwise);
    let tile = Tile {
        threads: [number("x", 16), number("y", 16)],
        each: [number("columns", 4), number("rows", 4)],
        piece: number("k", 16),
    };
    tiled(candidate, tile)
}

fn propose(_: &Candidate) -> Vec<Step> {
    let tiles = [
        [16, 16, 2, 2, 16],
        [16, 8, 4, 4, 8],
        [16, 16, 4, 4, 8],
        [32, 4, 2, 8, 16],
        [8, 8, 4, 4, 16],
    ];
    let steps = tiles.into_iter().filter_map(|[x, y, columns, rows, k]| {
        let given = [
            ("x", x),
            ("y", y),
            ("columns", columns),
            ("rows", rows),
            ("k", k),
        ];
        Step::new(RECIPE.id, &given)
    });
    steps.collect()
}

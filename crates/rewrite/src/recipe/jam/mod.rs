//! Several threads jammed into one: the program of a thread, with every instruction that depends on its position along an
//! axis done once for each of several positions, inside one control flow.
//!
//! Where the positions disagree about a branch, its arm runs if any of them takes it. A position that does not take it
//! *follows* one that does: it computes with that one's values, so that it reads only what some thread of the original
//! reads, and what it would store is left out. Nothing else is guarded.
//!
//! | file | what it does |
//! |---|---|
//! | `tails` | control trees without jumps out of arms, as far as possible |
//! | `dependence` | which values depend on the position |
//! | `follow` | which values an arm needs to be legal |
//! | `emit`, `arms` | the new function, and branches that positions disagree about |

mod arms;
mod dependence;
mod emit;
mod follow;
mod tails;

use super::{Refusal, RefusalKind};
use assay_opt::pass::FunctionPass;
use assay_opt::structurize::structurize;
use assay_ssa::{Function, Module, Value};

pub(super) use tails::normalise;

/// The positions of a new thread along the axis that is jammed.
pub(super) struct Positions {
    /// The axis.
    pub(super) axis: usize,
    /// The positions, lowest first. They are values of the entry block, which has been made for them.
    pub(super) each: Vec<Value>,
    /// For each position the condition that it is in the grid; none for one that always is.
    pub(super) in_grid: Vec<Option<Value>>,
    /// The extent of the original grid along the axis.
    pub(super) extent: Option<Value>,
}

/// The function of a thread that does the work of several.
///
/// `source` is the function of one. `target` is a copy of it whose entry block alone is left, with instructions that make
/// the positions.
pub(super) fn jam(
    module: &Module,
    source: &Function,
    target: Function,
    positions: &Positions,
) -> Result<Function, Refusal> {
    let control = |why: &str| Refusal::new(RefusalKind::Control, why);
    let tree = structurize(source).map_err(|error| control(&error.to_string()))?;
    let body = normalise(tree.body);
    let dependence = dependence::Dependence::new(source, &body, positions.axis);
    dependence::check(source, &body, &dependence)?;
    let masked = positions.in_grid.iter().any(Option::is_some);
    follow::check(source, &body, &dependence, masked)?;
    let mut made = emit::emit(source, target, &body, &dependence, positions)?;
    tidy(module, &mut made);
    Ok(made)
}

/// What puts a rewritten function in order: variables into values, then no more than is needed.
const TIDY: &[FunctionPass] = &[
    assay_opt::simplify_cfg::simplify_cfg,
    assay_opt::promote_memory::promote_memory,
    assay_opt::simplify::simplify,
    super::imply::imply_conditions,
    assay_opt::simplify::simplify,
    assay_opt::simplify_cfg::simplify_cfg,
    assay_opt::remove_dead::remove_dead,
    assay_opt::number_values::number_values,
    super::imply::imply_conditions,
    assay_opt::simplify::simplify,
    assay_opt::number_values::number_values,
    super::imply::imply_conditions,
    assay_opt::simplify::simplify,
    assay_opt::hoist_invariants::hoist_invariants,
    assay_opt::simplify::simplify,
    assay_opt::number_values::number_values,
    assay_opt::remove_dead::remove_dead,
    assay_opt::simplify_cfg::simplify_cfg,
    assay_opt::remove_dead::remove_dead,
];

/// Puts a rewritten function in order.
pub(super) fn tidy(module: &Module, function: &mut Function) {
    for pass in TIDY {
        pass(module, function);
    }
}

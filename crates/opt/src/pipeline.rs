//! The order of passes.
//!
//! Inline everything; move thread memory into values; unroll what has a known number of
//! iterations, which makes more indices constant and so more memory movable; then merge,
//! hoist and clean up. What comes out has no calls of functions, no switches, and as
//! little thread memory as possible.

use crate::inline_calls::{InlineError, inline_calls};
use crate::pass::FunctionPass;
use assay_ssa::{Function, Module, analysis::spaces};

/// Rounds of unrolling: loops nested deeper than this keep their outermost ones.
const ROUNDS: usize = 6;

const CLEAN: &[FunctionPass] = &[
    crate::expand_copies::expand_copies,
    crate::simplify_cfg::simplify_cfg,
    crate::promote_memory::promote_memory,
    crate::simplify::simplify,
    crate::simplify_cfg::simplify_cfg,
    crate::remove_dead::remove_dead,
];

const FINISH: &[FunctionPass] = &[
    crate::number_values::number_values,
    crate::hoist_invariants::hoist_invariants,
    crate::simplify::simplify,
    crate::number_values::number_values,
    crate::fuse_multiply_add::fuse_multiply_add,
    crate::lower_switch::lower_switch,
    crate::remove_dead::remove_dead,
    crate::simplify_cfg::simplify_cfg,
    crate::remove_dead::remove_dead,
];

/// Optimises every kernel of a module.
pub fn optimize(module: &mut Module) -> Result<(), InlineError> {
    inline_calls(module)?;
    let mut kernels: Vec<_> = module
        .kernels
        .iter()
        .map(|kernel| kernel.function)
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    for id in kernels {
        let Some(slot) = module.functions.get_mut(id) else {
            continue;
        };
        let placeholder = Function::new("", assay_ssa::Type::VOID);
        let mut function = std::mem::replace(slot, placeholder);
        optimize_function(module, &mut function);
        module.functions[id] = function;
    }
    spaces::infer(module);
    Ok(())
}

/// Optimises one function without calls.
pub fn optimize_function(module: &Module, function: &mut Function) {
    run(module, function, CLEAN);
    for _ in 0..ROUNDS {
        if !crate::unroll_loops::unroll_loops(module, function) {
            break;
        }
        run(module, function, CLEAN);
    }
    run(module, function, FINISH);
}

fn run(module: &Module, function: &mut Function, passes: &[FunctionPass]) {
    for pass in passes {
        pass(module, function);
    }
}

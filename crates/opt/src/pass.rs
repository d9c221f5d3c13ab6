//! What a pass is, and the list of them by name.

use assay_ssa::{Function, Module};

/// A pass over one function. The module is there to be read (types, globals); the
/// function being changed is not in it meanwhile. Returns whether anything changed.
pub type FunctionPass = fn(&Module, &mut Function) -> bool;

/// Every function pass with its name.
pub const PASSES: &[(&str, FunctionPass)] = &[
    ("apply_fast_math", crate::apply_fast_math::apply_fast_math),
    ("expand_copies", crate::expand_copies::expand_copies),
    (
        "expand_copies_by_words",
        crate::expand_copies::expand_copies_by_words,
    ),
    (
        "expect_alignment",
        crate::expect_alignment::expect_alignment,
    ),
    (
        "expect_arithmetic",
        crate::expect_arithmetic::expect_arithmetic,
    ),
    ("expect_defined", crate::expect_defined::expect_defined),
    ("form_selects", crate::form_selects::form_selects),
    ("forward_loads", crate::forward_loads::forward_loads),
    (
        "fuse_multiply_add",
        crate::fuse_multiply_add::fuse_multiply_add,
    ),
    (
        "group_uniform_factors",
        crate::group_uniform_factors::group_uniform_factors,
    ),
    (
        "hoist_invariants",
        crate::hoist_invariants::hoist_invariants,
    ),
    ("index_pointers", crate::index_pointers::index_pointers),
    ("loop_copies", crate::loop_copies::loop_copies),
    ("lower_switch", crate::lower_switch::lower_switch),
    (
        "mark_uninitialised",
        crate::mark_uninitialised::mark_uninitialised,
    ),
    ("merge_counters", crate::merge_counters::merge_counters),
    ("narrow_indices", crate::narrow_indices::narrow_indices),
    ("number_values", crate::number_values::number_values),
    ("promote_memory", crate::promote_memory::promote_memory),
    (
        "propagate_constants",
        crate::propagate_constants::propagate_constants,
    ),
    ("remove_dead", crate::remove_dead::remove_dead),
    (
        "remove_dead_stores",
        crate::remove_dead_stores::remove_dead_stores,
    ),
    ("simplify", crate::simplify::simplify),
    ("simplify_cfg", crate::simplify_cfg::simplify_cfg),
    (
        "split_aggregates",
        crate::split_aggregates::split_aggregates,
    ),
    (
        "split_vector_loads",
        crate::split_vector_loads::split_vector_loads,
    ),
    ("store_elements", crate::store_elements::store_elements),
    ("sink_past_guard", crate::sink_past_guard::sink_past_guard),
    ("unroll_loops", crate::unroll_loops::unroll_loops),
    ("unroll_partly", crate::unroll_partly::unroll_partly),
];

/// The pass of a name.
pub fn by_name(name: &str) -> Option<FunctionPass> {
    PASSES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, pass)| *pass)
}

/// Runs a pass over every function of a module.
pub fn run(module: &mut Module, pass: FunctionPass) -> bool {
    let mut changed = false;
    for id in module.functions.ids() {
        let placeholder = Function::new("", assay_ssa::Type::VOID);
        let mut function = std::mem::replace(&mut module.functions[id], placeholder);
        changed |= pass(module, &mut function);
        module.functions[id] = function;
    }
    changed
}

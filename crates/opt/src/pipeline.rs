//! The order of passes.
//!
//! Inline everything; say what fast math is; move thread memory into values; unroll what has a known number of
//! iterations, which makes more indices constant and so more memory movable; then merge,
//! hoist and clean up. What comes out has no calls of functions, no switches, and as
//! little thread memory as possible.

use crate::inline_calls::{InlineError, inline_calls};
use crate::make_thread_variables::make_thread_variables;
use crate::pass::FunctionPass;
use crate::unfold_recursion::{Depth, unfold_recursion};
use assay_ssa::{Function, InstData, Module, analysis::spaces};

/// Rounds of unrolling: loops nested deeper than this keep their outermost ones.
const ROUNDS: usize = 6;

const CLEAN: &[FunctionPass] = &[
    crate::expand_copies::expand_copies,
    crate::simplify_cfg::simplify_cfg,
    crate::index_pointers::index_pointers,
    crate::promote_memory::promote_memory,
    crate::fold_constant_loads::fold_constant_loads,
    crate::simplify::simplify,
    crate::simplify_cfg::simplify_cfg,
    crate::remove_dead::remove_dead,
];

/// After unrolling: addresses become constant before memory is looked at.
const SETTLE: &[FunctionPass] = &[
    crate::simplify_cfg::simplify_cfg,
    crate::simplify::simplify,
    crate::simplify_cfg::simplify_cfg,
];

/// Memory is settled: what copies are left move words. Then fewer blocks, before values are merged across them.
const STRAIGHTEN: &[FunctionPass] = &[
    crate::expand_copies::expand_copies_by_words,
    crate::loop_copies::loop_copies,
    crate::propagate_constants::propagate_constants,
    crate::simplify_cfg::simplify_cfg,
    form_selects,
];

const FINISH: &[FunctionPass] = &[
    crate::number_values::number_values,
    crate::merge_counters::merge_counters,
    crate::narrow_indices::narrow_indices,
    crate::sink_past_guard::sink_past_guard,
    crate::group_uniform_factors::group_uniform_factors,
    crate::hoist_invariants::hoist_invariants,
    crate::simplify::simplify,
    crate::number_values::number_values,
    crate::forward_loads::forward_loads,
    crate::remove_dead_stores::remove_dead_stores,
    crate::fuse_multiply_add::fuse_multiply_add,
    crate::lower_switch::lower_switch,
    crate::remove_dead::remove_dead,
    crate::simplify_cfg::simplify_cfg,
    crate::remove_dead::remove_dead,
];

/// The same for a program that is checked: its loads and stores stay as they are.
const FINISH_CHECKED: &[FunctionPass] = &[
    crate::number_values::number_values,
    crate::merge_counters::merge_counters,
    crate::narrow_indices::narrow_indices,
    crate::group_uniform_factors::group_uniform_factors,
    crate::hoist_invariants::hoist_invariants,
    crate::simplify::simplify,
    crate::number_values::number_values,
    crate::fuse_multiply_add::fuse_multiply_add,
    crate::lower_switch::lower_switch,
    crate::remove_dead::remove_dead,
    crate::simplify_cfg::simplify_cfg,
    crate::remove_dead::remove_dead,
];

/// After pointers without an address space were split.
const SPLIT: &[FunctionPass] = &[
    crate::remove_dead::remove_dead,
    crate::simplify::simplify,
    crate::simplify_cfg::simplify_cfg,
    crate::remove_dead::remove_dead,
];

/// What the pipeline may be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Unroll loops. Without it loops keep the shape the front end gave them, and arrays
    /// indexed by a counter stay in memory.
    pub unroll: bool,
    /// Make a program to be checked, not to be fast: see [`Checks`].
    pub checks: Option<Checks>,
}

/// What a program that is to be checked expects besides that variables are set before they are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checks {
    /// Divisors are not zero, shifts shorter than their numbers, floats fit the integers they become.
    pub arithmetic: bool,
    /// Nothing is taken for ordered that the memory model does not say is, whatever can happen on a GPU. What this makes
    /// known is the executor's: the program is the same.
    pub pedantic: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            unroll: true,
            checks: None,
        }
    }
}

/// What the pipeline did, all kernels together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Functions optimised.
    pub functions: usize,
    /// Instructions in them once calls were inlined.
    pub instructions_before: usize,
    /// Instructions in the end.
    pub instructions_after: usize,
    /// Arrays, structs and variables that stay in thread memory.
    pub in_memory: usize,
}

/// Optimises every kernel of a module.
///
/// ```
/// let text = "module \"m\"\n\
///     kernel \"k\" f0 {\n}\n\
///     function f0 \"k\" -> void {\n\
///     b0(v0: ptr.device):\n\
///         v1: ptr.thread = alloca i32 align 4\n\
///         store v1, i32 7 align 4\n\
///         v2: i32 = load v1 align 4\n\
///         store v0, v2 align 4\n\
///         return\n}\n";
/// let mut module = assay_ssa::parse(text).unwrap();
/// let stats = assay_opt::pipeline::optimize(&mut module).unwrap();
/// assert_eq!(stats.in_memory, 0);
/// assert_eq!(stats.instructions_after, 2);
/// ```
pub fn optimize(module: &mut Module) -> Result<Stats, InlineError> {
    optimize_with(module, &Options::default())
}

/// [`optimize`] with a choice of what to do.
pub fn optimize_with(module: &mut Module, options: &Options) -> Result<Stats, InlineError> {
    unfold_recursion(
        module,
        match options.checks {
            Some(_) => Depth::AS_WRITTEN,
            None => Depth::OPTIMISED,
        },
    );
    inline_calls(module)?;
    let mut kernels: Vec<_> = module
        .kernels
        .iter()
        .map(|kernel| kernel.function)
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    let mut stats = Stats::default();
    for &id in &kernels {
        let Some(slot) = module.functions.get_mut(id) else {
            continue;
        };
        let placeholder = Function::new("", assay_ssa::Type::VOID);
        let mut function = std::mem::replace(slot, placeholder);
        stats.functions += 1;
        stats.instructions_before += count(&function, |_| true);
        make_thread_variables(module, &mut function);
        if let Some(kernel) = module.kernels.iter().find(|kernel| kernel.function == id) {
            crate::mark_aliases::mark_aliases(kernel, &mut function);
        }
        optimize_function(module, &mut function, options);
        stats.instructions_after += count(&function, |_| true);
        stats.in_memory += count(&function, |data| matches!(data, InstData::Alloca { .. }));
        module.functions[id] = function;
    }
    spaces::infer(module);
    for id in kernels {
        let Some(slot) = module.functions.get_mut(id) else {
            continue;
        };
        let mut function = std::mem::replace(slot, Function::new("", assay_ssa::Type::VOID));
        if crate::split_pointers::split_pointers(module, &mut function) {
            run(module, &mut function, SPLIT);
        }
        module.functions[id] = function;
    }
    Ok(stats)
}

fn count(function: &Function, fits: impl Fn(&InstData) -> bool) -> usize {
    let insts = function.all_insts();
    insts.filter(|&inst| fits(function.inst(inst))).count()
}

/// Optimises one function without calls.
pub fn optimize_function(module: &Module, function: &mut Function, options: &Options) {
    crate::apply_fast_math::apply_fast_math(module, function);
    if let Some(checks) = options.checks {
        prepare_checks(module, function, checks);
    }
    clean(module, function);
    for _ in 0..ROUNDS {
        if !options.unroll || !crate::unroll_loops::unroll_loops(module, function) {
            break;
        }
        run(module, function, SETTLE);
        run(module, function, CLEAN);
    }
    for _ in 0..ROUNDS {
        let wanted = options.unroll && options.checks.is_none();
        if !wanted || !crate::unroll_partly::unroll_partly(module, function) {
            break;
        }
        run(module, function, SETTLE);
        run(module, function, CLEAN);
    }
    if options.checks.is_some() {
        crate::expect_defined::expect_defined(module, function);
        run(module, function, STRAIGHTEN);
        run(module, function, FINISH_CHECKED);
    } else {
        run(module, function, STRAIGHTEN);
        run(module, function, FINISH);
    }
}

/// Before anything is optimised away: what variables hold at first, and what arithmetic expects. Then memory becomes
/// values, also that which is reached through pointers kept in memory, as in code that no optimiser has seen.
fn prepare_checks(module: &Module, function: &mut Function, checks: Checks) {
    crate::expect_alignment::expect_alignment(module, function);
    crate::mark_uninitialised::mark_uninitialised(module, function);
    if checks.arithmetic {
        crate::expect_arithmetic::expect_arithmetic(module, function);
    }
    crate::split_aggregates::split_aggregates(module, function);
    clean(module, function);
    if crate::store_elements::store_elements(module, function) {
        run(module, function, CLEAN);
    }
    crate::split_vector_loads::split_vector_loads(module, function);
}

/// Cleans until no more memory becomes values: a variable that a lambda holds by reference is reached through a pointer
/// kept in memory, which has to become a value first.
fn clean(module: &Module, function: &mut Function) {
    let allocas = |function: &Function| count(function, |d| matches!(d, InstData::Alloca { .. }));
    let mut before = allocas(function);
    for _ in 0..ROUNDS {
        run(module, function, CLEAN);
        let left = allocas(function);
        if left == 0 || left == before {
            break;
        }
        before = left;
    }
}

/// Conditions inside others become small enough once the inner ones are gone.
fn form_selects(module: &Module, function: &mut Function) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        if !crate::form_selects::form_selects(module, function) {
            break;
        }
        crate::simplify_cfg::simplify_cfg(module, function);
        changed = true;
    }
    changed
}

fn run(module: &Module, function: &mut Function, passes: &[FunctionPass]) {
    for pass in passes {
        pass(module, function);
    }
}

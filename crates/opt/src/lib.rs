//! From a program as the front end left it to one worth running.
//!
//! One pass per file, named by what it does; each takes a function and leaves an
//! equivalent one. The executor and the code generator receive the *same* program,
//! and both follow the [`control::Tree`] that [`structurize`](structurize::structurize)
//! makes: it alone decides where threads that parted meet again.
//!
//! Two rules bind every pass. Floating-point meaning changes only as far as an
//! instruction's own flags allow. And an operation that involves other threads (a
//! *convergent* one) is never made to run under other control flow than before: not
//! duplicated into arms, not moved across a branch, not sunk, not speculated.

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod apply_fast_math;
mod bounds;
pub mod construct_globals;
pub mod control;
pub mod evaluate;
pub mod evaluate_builtin;
pub mod expand_copies;
pub mod expect_alignment;
pub mod expect_arithmetic;
pub mod expect_defined;
pub mod expectation;
pub mod fold_constant_loads;
pub mod form_selects;
pub mod forward_loads;
pub mod fuse_multiply_add;
pub mod group_uniform_factors;
pub mod hoist_invariants;
pub mod index_pointers;
pub mod inline_calls;
pub mod loop_copies;
pub mod lower_switch;
pub mod make_thread_variables;
pub mod mark_aliases;
pub mod mark_uninitialised;
pub mod merge_counters;
pub mod narrow_indices;
pub mod number_values;
pub mod pass;
pub mod pipeline;
pub mod promote_memory;
pub mod propagate_constants;
mod rehearse_loop;
pub mod remove_dead;
pub mod remove_dead_stores;
pub mod simplify;
pub mod simplify_cfg;
pub mod sink_past_guard;
pub mod split_aggregates;
pub mod split_pointers;
pub mod split_vector_loads;
pub mod store_elements;
pub mod structurize;
mod thread_cells;
pub mod unfold_recursion;
pub mod unroll_loops;
pub mod unroll_partly;

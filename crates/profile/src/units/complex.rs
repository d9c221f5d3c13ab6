//! IC: the unit of integer multiplication and complex operations.
//!
//! ## What it does
//! Executes integer multiplications, shifts and bit fields, conversions, roots, reciprocals,
//! exponentials and other transcendental operations. It is narrower than the others: an instruction occupies it for
//! several cycles (4 for most, more for some), while the scheduler goes on with other instructions.
//!
//! ## Why it matters
//! It runs beside the other units, so its cycles are hidden as long as they are fewer than the issue slots. When they are
//! more, it decides: a loop with one exponential and three additions is bound by IC.
//!
//! ## What to do
//! Take integer multiplications out of index arithmetic (step by additions, use shifts only where they are folded into an
//! address), multiply by a reciprocal computed once instead of dividing, use fast variants, convert once and not in a loop.

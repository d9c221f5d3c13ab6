//! SCIB: selects, compares, integer adds, bitwise operations, moves, and exchanges between lanes.
//!
//! ## What it does
//! Executes what is neither float arithmetic nor complex: comparisons with selection, integer additions, moves, bitwise
//! operations, reads of special registers, and exchanges between lanes. The name is that of Mesa's statistics, which do not
//! explain it. Most of these take one issue slot; prefix operations and reductions over a simdgroup take 18 and 24.
//!
//! ## Why it matters
//! Much of it is bookkeeping: address arithmetic, loop counters, moves between registers. Its cycles are issue slots that
//! no float arithmetic had.
//!
//! ## What to do
//! Step pointers instead of computing indices; use 32-bit indices; let a loop of known length be unrolled, so that
//! addresses become constants of the loads; use `min`, `max` and `clamp` rather than several comparisons.

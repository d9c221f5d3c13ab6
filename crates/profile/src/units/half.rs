//! F16: the pipeline of half-precision arithmetic.
//!
//! ## What it does
//! Adds, multiplies and multiply-adds halves at the rate of single precision: one instruction of 32 lanes per cycle and
//! scheduler. Converting between half and float operands is free in most instructions.
//!
//! ## Why it matters
//! On M1 and M2 half precision is not faster as arithmetic. It pays by needing half the registers, so that more threads
//! fit on a core, and half the bytes of memory. A 16-bit result is also ready sooner (0.56 cycles lost by using it at
//! once, against 0.84 at full occupancy).
//!
//! ## What to do
//! Keep data in `half` where its range and error allow it, sums in `float`.

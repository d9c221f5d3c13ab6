//! F32: the pipeline of single-precision arithmetic.
//!
//! ## What it does
//! Adds, multiplies and multiply-adds floats: 32 lanes, one instruction per cycle and scheduler. Matrix instructions
//! (`simdgroup_matrix`) occupy it for many cycles.
//!
//! ## Why it matters
//! Its cycles are a part of the issue slots. Their share of all issue slots says how much of the time goes to the
//! arithmetic one came for; the peak of a chip in FLOPS is this unit busy with multiply-adds in every cycle.
//!
//! ## What to do
//! If it is most of a loop that is bound by issue, the loop is good: look for a better algorithm. If it is little, the rest is
//! overhead: see `assay explain issue`.

//! Issue slots of the scheduler, which every instruction takes.
//!
//! ## What it does
//! Counts the cycles in which a scheduler can start nothing else. A core of M1 and M2 has four schedulers; each starts
//! one instruction of one of its simdgroups per cycle, and a few instructions take two.
//!
//! ## Why it matters
//! It is the ceiling of everything else: when the sum of issue slots is the largest figure of a loop, only fewer
//! instructions make it faster, whatever unit they go to.
//!
//! ## What to do
//! Do less per result: wider loads, multiply-adds instead of a product and a sum, work moved out of the loop, indices that
//! are stepped instead of computed.

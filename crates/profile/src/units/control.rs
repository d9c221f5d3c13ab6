//! Control: jumps, execution masks, waits and barriers.
//!
//! ## What it does
//! Counts the issue slots of instructions that decide which lanes are active and what comes next, and of `wait` and
//! barriers. How long a wait or barrier then stands is not part of it.
//!
//! ## Why it matters
//! Small loops spend much of their time here: a test, a mask, a jump for every iteration.
//!
//! ## What to do
//! Unroll short loops, turn short branches into selections, and keep divergent conditions out of inner loops.

//! The back end against the emulator: whatever registers, waits and hints it chooses,
//! strict runs must find every value where it is read.

mod common;
mod files;
mod programs;
mod random;

//! Makes kernels faster in a closed loop, and tells the truth about it.
//!
//! | you want | look at |
//! |---|---|
//! | knobs, restrictions, valid configurations | [`space`] |
//! | what to evaluate next | [`search`] |
//! | how good a search is, on spaces that were recorded | [`replay`] |
//! | knobs as a source declares them | [`knobs`] |
//! | the whole loop, over any compiler and model | [`session`] |
//! | the loop's hands: recipes, compiler, executor, time model | [`workbench`] |
//! | what was tried, by whom, with what outcome | [`attempts`] |
//! | what a gain is worth that was picked among many | [`shrink`] |
//! | a kernel put back into a file of several | [`splice`] |

// Library code returns errors; tests may panic.
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod advice;
pub mod attempts;
pub mod cure;
pub mod diff;
pub mod fingerprint;
pub mod knobs;
mod normal;
pub mod replay;
pub mod report;
pub mod search;
pub mod session;
pub mod shrink;
pub mod space;
pub mod splice;
pub mod workbench;

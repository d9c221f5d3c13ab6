//! Kernels around one loop, computed tile by tile: a threadgroup brings what its threads read into threadgroup memory, runs
//! the loop on it, and then each thread runs the rest of the program as if the loop had just ended.
//!
//! | file | what it does |
//! |---|---|
//! | `site` | the loop, the guards around it, what its values depend on |
//! | `evaluate` | values of the original, computed again for other positions and rounds |
//! | `staging` | values that threads share, in threadgroup memory |
//! | `frame` | the new function: loops, barriers, and the rest of the program behind them |

mod evaluate;
mod frame;
mod site;
mod staging;

pub(super) use evaluate::{Evaluator, Place};
pub(super) use frame::Frame;
pub(super) use site::{ROUND, Site, X, Y};
pub(super) use staging::{Loading, Staged};

//! What Metal is written with: every feature of the language by a kernel of its own, and kernels in
//! the manner of those people have. All are executed; results are known beforehand.
//!
//! Function constants and threadgroup memory sized at dispatch are with the examples
//! (`more.rs`, `features.rs`).

#[path = "../examples/common.rs"]
#[allow(dead_code, reason = "shared with the examples")]
mod common;
mod features;
mod odd_widths;
mod styles;
mod wild;

use assay_exec::{Buffer, Grid};

const LANES: u32 = 32;

/// What a kernel `k` makes of buffers over one simdgroup, checked on the way.
fn run(source: &str, kernel: &str, buffers: Vec<Buffer>) -> Option<Vec<Buffer>> {
    let program = common::program_of(source, "language.metal", kernel)?;
    Some(common::run(&program, Grid::line(LANES, LANES), buffers))
}

fn floats(of: impl Fn(u32) -> f32) -> Buffer {
    Buffer::from_slice(&(0..LANES).map(of).collect::<Vec<f32>>())
}

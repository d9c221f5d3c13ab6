//! Random kernels leave the same bytes.

use super::both;
use assay_exec::{Bindings, Buffer, Grid, Limits, Program};

#[path = "../programs/author.rs"]
mod author;

/// Kernels that are compared: each costs a compilation.
const CASES: u64 = 48;

/// Two threadgroups of two simdgroups, and one cut at the edge of the grid.
const THREADS: u32 = 160;

fn random_bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed * 2 + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

fn result(program: &Program) -> Vec<u8> {
    let words = |seed, count: u32| Buffer::from_bytes(&random_bytes(seed, count as usize * 4));
    let mut bindings = Bindings::new();
    bindings.set(0, words(1, THREADS * author::OWN_WORDS));
    bindings.set(1, words(2, author::SHARED_WORDS));
    let limits = Limits {
        max_steps: 1_000_000,
        ..Limits::default()
    };
    program
        .run(&Grid::line(THREADS, 64), &mut bindings, &limits)
        .expect("runs");
    bindings
        .get(0)
        .map(|own| own.bytes().to_vec())
        .unwrap_or_default()
}

#[test]
fn random_kernels_leave_the_same_bytes() {
    for seed in 0..CASES {
        let text = author::kernel(&random_bytes(seed, 300));
        let Some([plain, native]) = both(&text, [64, 1, 1]) else {
            return;
        };
        let (expected, found) = (result(&plain), result(&native));
        let differs = (0..expected.len()).find(|&at| found.get(at) != expected.get(at));
        assert_eq!(differs, None, "seed {seed}\n{text}");
    }
}

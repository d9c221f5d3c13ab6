//! Random kernels compute the same optimised or not, at every SIMD level, checked or not.

use super::author::{OWN_WORDS, SHARED_WORDS, kernel};
use super::differ::{difference, random_bytes};

/// Kernels that are compared; a few seconds' worth.
const CASES: u64 = 120;

#[test]
fn optimised_kernels_compute_what_unoptimised_ones_do_at_every_simd_level() {
    let mut operations = 0;
    for seed in 0..CASES {
        let text = kernel(&random_bytes(seed, 300));
        match difference(&text, OWN_WORDS, SHARED_WORDS) {
            Ok(run) => operations += run,
            Err(what) => panic!("seed {seed}: {what}\n{text}"),
        }
    }
    assert!(operations > 5_000, "only {operations} operations were run");
}

//! Simdgroups that run in step and do not stay so.

use crate::common::program_of;
use assay_exec::{Bindings, Buffer, Grid, Limits, RunError};

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";
const ARGUMENTS: &str = "device uint *out [[buffer(0)]], uint t [[thread_index_in_threadgroup]], \
                         uint s [[simdgroup_index_in_threadgroup]], uint i [[thread_position_in_grid]]";

/// What a kernel leaves in a buffer of one number for each of so many threads, in threadgroups of 256.
fn result(body: &str, threads: u32) -> Option<Vec<u32>> {
    let text = format!("{HEAD}kernel void k({ARGUMENTS}) {{ {body} }}");
    let program = program_of(&text, "k.metal", "k")?;
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(threads as usize * 4));
    let done = program.run(&Grid::line(threads, 256), &mut bindings, &Limits::default());
    assert!(done.is_ok(), "{done:?}");
    bindings.take(0).map(|out| out.to_vec())
}

fn check(body: &str, expected: impl Fn(u32) -> u32) {
    for threads in [256, 300, 32, 5] {
        if let Some(got) = result(body, threads) {
            let expected: Vec<u32> = (0..threads).map(&expected).collect();
            assert_eq!(got, expected, "{threads} threads of {body}");
        }
    }
}

/// Undefined in Metal, and what hardware does: a barrier counts simdgroups, not places.
#[test]
fn simdgroups_may_wait_at_different_barriers() {
    let body = "threadgroup uint x[256]; \
                if (s == 0) { x[t] = 7; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = x[(t + 32) & 255]; } \
                else if (s & 1) { x[t] = s; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = x[t & 31]; } \
                else { x[t] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = x[(t & 31) + 32] + 1; }";
    let Some(got) = result(body, 512) else { return };
    let expected = |i: u32| match i / 32 % 8 {
        0 => 1,
        s if s & 1 == 1 => 7,
        _ => 2,
    };
    assert_eq!(got, (0..512).map(expected).collect::<Vec<u32>>());
}

#[test]
fn each_lane_leaves_a_loop_when_it_is_done() {
    let body = "uint n = 0, sum = 5; for (uint k = 0; k < (t * 7) % 50; ++k) { sum = sum * 3 + n; n += k ^ t; } out[i] = sum + n;";
    check(body, |i| {
        let t = i % 256;
        let (mut n, mut sum) = (0u32, 5u32);
        for k in 0..(t * 7) % 50 {
            sum = sum.wrapping_mul(3).wrapping_add(n);
            n = n.wrapping_add(k ^ t);
        }
        sum.wrapping_add(n)
    });
}

#[test]
fn a_carried_value_survives_early_ways_out_and_on() {
    let body = "uint sum = 1; for (uint k = 0; k < 40; ++k) { if (((k + t) & 3) == 0) continue; sum = sum * 5 + k; \
                if (sum % 11 == t % 11) break; sum += 2; } out[i] = sum;";
    check(body, |i| {
        let t = i % 256;
        let mut sum = 1u32;
        for k in 0..40 {
            if (k + t) & 3 == 0 {
                continue;
            }
            sum = sum.wrapping_mul(5).wrapping_add(k);
            if sum % 11 == t % 11 {
                break;
            }
            sum = sum.wrapping_add(2);
        }
        sum
    });
}

#[test]
fn two_carried_values_may_change_places() {
    let body = "uint a = t, b = 1; for (uint k = 0; k < s + 3; ++k) { uint c = a + b; a = b; b = c; } out[i] = a * 1000 + b;";
    check(body, |i| {
        let (t, s) = (i % 256, i % 256 / 32);
        let (mut a, mut b) = (t, 1u32);
        for _ in 0..s + 3 {
            (a, b) = (b, a.wrapping_add(b));
        }
        a.wrapping_mul(1000).wrapping_add(b)
    });
}

#[test]
fn threads_that_return_are_not_waited_for() {
    let body = "threadgroup uint x[256]; x[t] = t; if (s >= 5 || (t & 3) == 3) { out[i] = 9; return; } \
                threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = x[t ^ 1];";
    let Some(got) = result(body, 256) else { return };
    let expected = |i: u32| {
        if i / 32 >= 5 || i & 3 == 3 { 9 } else { i ^ 1 }
    };
    assert_eq!(got, (0..256).map(expected).collect::<Vec<u32>>());
}

#[test]
fn every_simdgroup_has_its_own_thread_memory() {
    let body = "uint a[16]; for (uint k = 0; k < 16; ++k) a[(k * 5 + t) & 15] = k + i; \
                uint sum = 0; for (uint k = 0; k < 16; ++k) sum = sum * 3 + a[(k + s) & 15]; out[i] = sum;";
    check(body, |i| {
        let (t, s) = (i % 256, i % 256 / 32);
        let mut a = [0; 16];
        for k in 0..16 {
            a[((k * 5 + t) & 15) as usize] = k + i;
        }
        let sum = |sum: u32, k: u32| sum.wrapping_mul(3).wrapping_add(a[((k + s) & 15) as usize]);
        (0..16).fold(0, sum)
    });
}

#[test]
fn a_fault_names_the_thread_of_its_simdgroup() {
    let text = format!("{HEAD}kernel void k({ARGUMENTS}) {{ out[s == 6 ? i * 100 : i] = 1; }}");
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(512 * 4));
    let error = program.run(&Grid::line(512, 256), &mut bindings, &Limits::default());
    let Err(RunError::Fault(fault)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(fault.thread, [6 * 32, 0, 0]);
}

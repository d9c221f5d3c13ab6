//! Indices that are described as sums mean what they mean when they are written down: one of the checked runs
//! writes all of them down, and `run` compares the two.

use crate::common::{program_of, run, u32s};
use assay_exec::{Buffer, Grid};

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n\
    kernel void k(device uint *out [[buffer(0)]], device const uint *in [[buffer(1)]], constant uint &n [[buffer(2)]], \
    uint3 p [[thread_position_in_grid]], uint3 q [[thread_position_in_threadgroup]], uint3 size [[threads_per_grid]], \
    uint3 g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint s [[simdgroup_index_in_threadgroup]], uint l [[thread_index_in_simdgroup]]) {\n\
    uint i = (p.z * size.y + p.y) * size.x + p.x;\n";

/// Runs a body over grids of all shapes, with whole and ragged threadgroups.
fn check(body: &str) {
    let Some(program) = program_of(&format!("{HEAD}{body} }}"), "k.metal", "k") else {
        return;
    };
    let grids = [
        ([512, 1, 1], [256, 1, 1]),
        ([300, 1, 1], [160, 1, 1]),
        ([48, 20, 1], [16, 16, 1]),
        ([24, 9, 2], [12, 5, 1]),
        ([16, 8, 8], [8, 4, 4]),
        ([64, 4, 1], [32, 4, 1]),
        // Small threadgroups that run together.
        ([1024, 1, 1], [32, 1, 1]),
        ([1004, 3, 1], [64, 1, 1]),
        ([200, 8, 2], [8, 4, 1]),
        ([640, 4, 3], [32, 2, 1]),
        ([96, 64, 1], [1, 32, 1]),
        ([480, 2, 1], [24, 2, 2]),
        ([612, 4, 1], [12, 4, 2]),
    ];
    for (threads, group) in grids {
        let count: u32 = threads.iter().product();
        let input: Vec<u32> = (0..4096u32)
            .map(|x| x.wrapping_mul(2_654_435_761))
            .collect();
        let buffers = vec![
            Buffer::zeroed(count as usize * 4),
            u32s(&input),
            u32s(&[77]),
        ];
        let out = run(&program, Grid::threads(threads, group), buffers);
        assert!(out[0].to_vec::<u32>().iter().any(|&x| x != 0), "{body}");
    }
}

#[test]
fn sums_wrap_around_like_numbers() {
    check(
        "uint a = i * 0x10000001u + 0xfffffff0u; uint b = 5u - i; \
           out[i] = in[a & 4095] + in[b & 4095] * 3 + (a < b ? 7 : 11) + ((int)a < (int)b ? 1 : 2);",
    );
}

#[test]
fn indices_may_run_backwards() {
    check("int j = 4095 - int(i & 2047); out[i] = in[j] + in[(j - int(l)) & 4095] + 1;");
}

#[test]
fn bits_of_a_position_are_taken_apart_and_put_together() {
    check(
        "uint a = (q.x & 7) | ((q.x >> 3) << 6) | (q.y << 8); uint b = (a ^ 21) + (a | 40); \
           out[i] = in[a & 4095] + in[b & 4095] + b;",
    );
}

#[test]
fn addresses_of_64_bits_are_sums_too() {
    check(
        "ulong a = ulong(i) * 3 + ulong(n); long b = long(q.x) - 40; \
           out[i] = in[a & 4095] + in[ulong(b * b) & 4095] + (b < 0 ? 5 : 6) + uint(a > 1000ul);",
    );
}

#[test]
fn lanes_leave_a_loop_at_different_places() {
    check(
        "uint sum = 1, k = t; for (; k < n * 5; k += 64) { sum = sum * 31 + in[k]; if ((sum & 63) == l) break; } \
           out[i] = sum + k;",
    );
}

#[test]
fn values_carried_by_some_lanes_stay_with_the_others() {
    check(
        "uint a = t, b = 3; for (uint k = 0; k < 20; ++k) { if (k > s * 3) { uint c = a; a = b + k; b = c; } \
           if (k == (t & 15)) continue; b += in[(a + k) & 4095]; } out[i] = a * 7 + b;",
    );
}

#[test]
fn threads_that_returned_do_not_count() {
    check(
        "if ((t & 5) == 5 || s == 3) { out[i] = 9; return; } uint k = t * 2; \
           for (uint r = 0; r < 3; ++r) { k += n; if (l > 20 && r == 1) { out[i] = k + in[k & 4095]; return; } } \
           out[i] = k;",
    );
}

#[test]
fn shuffles_read_what_inactive_lanes_had_last() {
    check(
        "uint a = q.x + 5; uint b = a * 3; if ((t & 3) != 0) { b += n; a += 2; } \
           out[i] = simd_shuffle_xor(b, 1) + simd_shuffle_xor(a, 2) + 1;",
    );
}

#[test]
fn threadgroups_know_where_they_are() {
    check(
        "out[i] = in[(g.x * 3 + g.y * 5 + g.z * 7 + t) & 4095] + g.x * 1000 + g.y * 100 + g.z * 10 + s + p.x + (g.x < 9 ? 1 : 2);",
    );
}

#[test]
fn threadgroups_leave_loops_at_different_places() {
    check(
        "uint sum = 1; for (uint k = 0; k < g.x % 7 + l % 3 + 1; ++k) { sum = sum * 31 + in[(k * 64 + p.x) & 4095]; } \
           sum += simd_sum(sum); threadgroup_barrier(mem_flags::mem_device); out[i] = sum + g.y;",
    );
}

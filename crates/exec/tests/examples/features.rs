//! What none of the example kernels uses, each by a kernel of its own.

use crate::common::{program_of, random, run, u32s};
use assay_exec::{Bindings, Buffer, Grid, Limits};

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

/// The words a kernel `k` makes of 32 (or more) words; buffer 0 takes `out` words for each thread.
fn words(body: &str, input: &[u32], out: usize) -> Option<Vec<u32>> {
    let text = format!(
        "{HEAD}kernel void k(device uint *out [[buffer(0)]], device const uint *in [[buffer(1)]], uint i [[thread_position_in_grid]]) {{ {body} }}"
    );
    let program = program_of(&text, "k.metal", "k")?;
    let grid = Grid::line(input.len() as u32, 32);
    let buffers = vec![u32s(&vec![0; input.len() * out]), u32s(input)];
    Some(run(&program, grid, buffers)[0].to_vec())
}

fn numbers() -> Vec<u32> {
    (0..64u32)
        .map(|i| i.wrapping_mul(2654435761) >> 7)
        .collect()
}

#[test]
fn quads_reduce_scan_and_shuffle() {
    let input = numbers();
    let body = "uint x = in[i]; device uint *o = out + i * 8; o[0] = quad_sum(x); o[1] = quad_max(x); o[2] = quad_prefix_exclusive_sum(x); o[3] = quad_shuffle_xor(x, 3); o[4] = quad_broadcast(x, 2); o[5] = quad_shuffle_up(x, 1); o[6] = quad_xor(x); o[7] = quad_prefix_inclusive_sum(x);";
    let Some(got) = words(body, &input, 8) else {
        return;
    };
    for (i, got) in got.chunks(8).enumerate() {
        let quad = &input[i / 4 * 4..i / 4 * 4 + 4];
        let place = i % 4;
        let sum = |of: &[u32]| of.iter().fold(0u32, |a, b| a.wrapping_add(*b));
        let up = if place == 0 { quad[0] } else { quad[place - 1] };
        let expected = [
            sum(quad),
            quad.iter().copied().max().unwrap_or(0),
            sum(&quad[..place]),
            quad[3 - place],
            quad[2],
            up,
            quad.iter().fold(0, |a, b| a ^ b),
            sum(&quad[..=place]),
        ];
        assert_eq!(got, expected, "thread {i}");
    }
}

#[test]
fn shuffles_fill_what_comes_from_outside() {
    let input = numbers();
    let body = "uint x = in[i], f = 1000 + (i & 31); out[i * 2] = simd_shuffle_and_fill_up(x, f, 3); out[i * 2 + 1] = simd_shuffle_and_fill_down(x, f, 5);";
    let Some(got) = words(body, &input, 2) else {
        return;
    };
    for i in 0..64usize {
        let (first, lane) = (i / 32 * 32, i % 32);
        let up = if lane >= 3 {
            input[i - 3]
        } else {
            1000 + (lane + 32 - 3) as u32
        };
        let down = if lane + 5 < 32 {
            input[i + 5]
        } else {
            1000 + (lane + 5 - 32) as u32
        };
        assert_eq!(
            (got[i * 2], got[i * 2 + 1]),
            (up, down),
            "lane {lane} of {first}"
        );
    }
}

#[test]
fn lanes_vote() {
    let input = numbers();
    let body = "bool odd = in[i] & 1; ulong b = ulong(simd_ballot(odd)); uint n = 0; if (odd) { n = uint(ulong(simd_active_threads_mask())); } out[i * 4] = uint(b); out[i * 4 + 1] = simd_all(in[i] < 33554432); out[i * 4 + 2] = simd_any(odd); out[i * 4 + 3] = n;";
    let Some(got) = words(body, &input, 4) else {
        return;
    };
    for (i, got) in got.chunks(4).enumerate() {
        let group = &input[i / 32 * 32..i / 32 * 32 + 32];
        let ballot = (0..32).fold(0, |mask, lane| mask | (group[lane] & 1) << lane);
        let active = if input[i] & 1 == 1 { ballot } else { 0 };
        let all = u32::from(group.iter().all(|&x| x < 33554432));
        assert_eq!(
            got,
            [ballot, all, u32::from(ballot != 0), active],
            "thread {i}"
        );
    }
}

#[test]
fn numbers_are_packed_and_unpacked() {
    let input = numbers();
    let body = "uint x = in[i]; float4 u = unpack_unorm4x8_to_float(x); float4 s = unpack_snorm4x8_to_float(x); float2 v = unpack_unorm2x16_to_float(x); out[i * 3] = pack_float_to_unorm4x8(u); out[i * 3 + 1] = pack_float_to_unorm2x16(v); out[i * 3 + 2] = pack_float_to_snorm4x8(s);";
    let Some(got) = words(body, &input, 3) else {
        return;
    };
    for (x, got) in input.iter().zip(got.chunks(3)) {
        // −128 is −1, like −127.
        let signed = x.to_le_bytes().map(|b| if b == 0x80 { 0x81 } else { b });
        assert_eq!(got, [*x, *x, u32::from_le_bytes(signed)], "{x:#x}");
    }
}

#[test]
fn structs_are_copied_and_cleared_in_memory() {
    let text = format!(
        "{HEAD}struct Big {{ uint words[40]; }};\nkernel void k(device Big *out [[buffer(0)]], device const Big *in [[buffer(1)]], device const uint *which [[buffer(2)]], uint i [[thread_position_in_grid]]) {{ Big big = {{}}; if (i % 2 == 0) {{ big = in[i]; }} big.words[which[i] % 40] += 1; out[i] = big; }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let (threads, which) = (32usize, numbers());
    let input: Vec<u32> = (0..threads as u32 * 40).map(|n| n * 7 + 1).collect();
    let buffers = vec![
        u32s(&vec![9; threads * 40]),
        u32s(&input),
        u32s(&which[..threads]),
    ];
    let got: Vec<u32> = run(&program, Grid::line(32, 32), buffers)[0].to_vec();
    for (i, got) in got.chunks(40).enumerate() {
        let mut expected = vec![0; 40];
        if i % 2 == 0 {
            expected.copy_from_slice(&input[i * 40..i * 40 + 40]);
        }
        expected[which[i] as usize % 40] += 1;
        assert_eq!(got, expected, "thread {i}");
    }
}

#[test]
fn matrices_are_loaded_and_stored_transposed() {
    let text = format!(
        "{HEAD}kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]]) {{ simdgroup_float8x8 m; simdgroup_load(m, in, 10, ulong2(1, 2), true); simdgroup_store(m, out, 8); simdgroup_load(m, in, 10, ulong2(0, 0), false); simdgroup_store(m, out + 64, 8, ulong2(0, 0), true); }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let input = random(3, 120);
    let buffers = vec![Buffer::zeroed(128 * 4), Buffer::from_slice(&input)];
    let got: Vec<f32> = run(&program, Grid::line(32, 32), buffers)[0].to_vec();
    for row in 0..8 {
        for column in 0..8 {
            assert_eq!(got[row * 8 + column], input[(column + 2) * 10 + row + 1]);
            assert_eq!(got[64 + row * 8 + column], input[column * 10 + row]);
        }
    }
}

#[test]
fn threadgroup_memory_gets_its_size_at_dispatch() {
    let text = format!(
        "{HEAD}kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], threadgroup float *a [[threadgroup(0)]], threadgroup float *b [[threadgroup(1)]], uint i [[thread_position_in_threadgroup]]) {{ a[i] = in[i]; b[i] = in[i] * 2.0f; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = a[63 - i] + b[(i + 1) % 64]; }}"
    );
    let Some(program) = program_of(&text, "k.metal", "k") else {
        return;
    };
    let input = random(5, 64);
    let mut bindings = Bindings::new();
    bindings.set(0, Buffer::zeroed(256));
    bindings.set(1, Buffer::from_slice(&input));
    let grid = Grid::line(64, 64);
    assert!(
        program
            .run(&grid, &mut bindings, &Limits::default())
            .is_err()
    );
    bindings.set_threadgroup_memory(0, 256);
    bindings.set_threadgroup_memory(1, 256);
    let reports = program.check(&grid, &mut bindings, &Limits::default());
    assert_eq!(reports, Ok(vec![]));
    let got: Vec<f32> = bindings.get(0).expect("bound").to_vec();
    for i in 0..64 {
        assert_eq!(got[i], input[63 - i] + input[(i + 1) % 64] * 2.0);
    }
    bindings.set_threadgroup_memory(1, 128);
    assert!(
        program
            .run(&grid, &mut bindings, &Limits::default())
            .is_err()
    );
}

//! Counts of small kernels, each known beforehand.

use crate::common::program_of;
use assay_exec::{Bindings, Buffer, Class, Counts, Grid, Limits, Sample};

fn count_some(source: &str, grid: Grid, sample: Sample) -> Option<Counts> {
    let text = format!("#include <metal_stdlib>\nusing namespace metal;\n{source}");
    let program = program_of(&text, "k.metal", "k")?;
    let mut bindings = Bindings::new();
    for index in 0..2 {
        bindings.set(index, Buffer::zeroed(1 << 20));
    }
    let counts = program.count(&grid, &mut bindings, &Limits::default(), sample);
    Some(counts.unwrap_or_else(|error| panic!("{error}")))
}

fn count(source: &str, grid: Grid) -> Option<Counts> {
    count_some(source, grid, Sample::All)
}

const DOUBLE: &str = "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n    out[i] = in[i] * 2.0f;\n}";

#[test]
fn a_row_of_numbers_is_a_line_a_simdgroup() {
    let Some(counts) = count(DOUBLE, Grid::line(256, 64)) else {
        return;
    };
    assert_eq!((counts.threadgroups, counts.sampled), (4, 4));
    assert_eq!((counts.simdgroups, counts.threads), (8, 256));
    let device = counts.device;
    assert_eq!((device.traffic.loads, device.traffic.stores), (8, 8));
    assert_eq!(
        (device.traffic.bytes_loaded, device.traffic.bytes_stored),
        (1024, 1024)
    );
    assert_eq!(
        (device.accesses, device.lines, device.sectors),
        (16, 16, 64)
    );
    assert_eq!((device.cache_hits, device.cache_misses), (0, 8));
    assert_eq!((device.threadgroup_lines, device.dispatch_lines), (16, 16));
    assert_eq!(counts.instructions(Class::Memory), 16);
    assert_eq!(counts.load_depth, 1);
    let instructions: u64 = Class::ALL[..9]
        .iter()
        .map(|&c| counts.instructions(c))
        .sum();
    assert_eq!(counts.active_lanes, instructions * 32);
    assert_eq!(
        (counts.fewest * 8, counts.most * 8),
        (instructions, instructions)
    );
    let line = &counts.lines[0];
    assert!(line.place.ends_with("k.metal:4"), "{line:?}");
    assert_eq!(
        (line.memory_operations, line.bytes, line.lines),
        (16, 2048, 16)
    );
}

#[test]
fn a_sample_of_threadgroups_is_a_part_of_all() {
    let Some(counts) = count_some(DOUBLE, Grid::line(512, 64), Sample::Threadgroups(2)) else {
        return;
    };
    assert_eq!((counts.threadgroups, counts.sampled), (8, 2));
    assert_eq!((counts.simdgroups, counts.device.traffic.loads), (4, 4));
}

#[test]
fn a_partial_simdgroup_has_fewer_lanes() {
    let Some(counts) = count(DOUBLE, Grid::line(40, 64)) else {
        return;
    };
    assert_eq!((counts.simdgroups, counts.threads), (2, 40));
    assert_eq!(counts.device.traffic.bytes_loaded, 160);
    assert_eq!(counts.device.sectors, 2 * 5);
    let instructions: u64 = Class::ALL[..9]
        .iter()
        .map(|&c| counts.instructions(c))
        .sum();
    assert_eq!(counts.active_lanes, instructions / 2 * 40);
}

#[test]
fn columns_touch_a_line_each_and_come_back_to_it() {
    let source = "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], uint i [[thread_position_in_grid]]) { float s = 0; for (uint k = 0; k < 4; ++k) { s += in[i * 64 + k]; } out[i] = s; }";
    let Some(counts) = count(source, Grid::line(32, 32)) else {
        return;
    };
    let device = counts.device;
    assert_eq!(device.lines - 1, 4 * 32);
    // 32 lines fit into 64: all but the first loads hit, unless they fall into the same sets.
    assert_eq!(device.cache_hits + device.cache_misses, 4 * 32);
    assert!(device.cache_misses >= 32);
    assert_eq!(device.dispatch_lines, 33);
}

#[test]
fn vectors_are_accessed_whole() {
    let source = "kernel void k(device float4 *out [[buffer(0)]], device const float4 *in [[buffer(1)]], uint i [[thread_position_in_grid]]) { out[i] = in[i] + 1.0f; }";
    let Some(counts) = count(source, Grid::line(32, 32)) else {
        return;
    };
    let device = counts.device;
    assert_eq!((device.traffic.loads, device.accesses), (1, 2));
    assert_eq!((device.lines, device.sectors), (8, 32));
}

#[test]
fn banks_of_threadgroup_memory_get_in_each_others_way() {
    let kernel = |index: &str| {
        format!(
            "kernel void k(device float *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {{ threadgroup float t[1056]; t[{index}] = float(i); threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = t[{index}]; }}"
        )
    };
    for (index, passes) in [("i", 1), ("i * 32", 32), ("i * 33", 1), ("i * 2", 2)] {
        let Some(counts) = count(&kernel(index), Grid::line(32, 32)) else {
            return;
        };
        let threadgroup = counts.threadgroup;
        assert_eq!(
            (threadgroup.traffic.stores, threadgroup.traffic.loads),
            (1, 1)
        );
        assert_eq!(threadgroup.bank_passes, 2 * passes, "{index}");
        assert_eq!(counts.instructions(Class::Barrier), 1);
    }
}

#[test]
fn a_chain_of_loads_has_a_depth() {
    let source = "kernel void k(device uint *out [[buffer(0)]], device const uint *next [[buffer(1)]], constant uint &n [[buffer(1)]], uint i [[thread_position_in_grid]]) { uint x = i; for (uint k = 0; k < 5; ++k) { x = next[x]; } out[i] = x + next[i]; }";
    let Some(counts) = count(source, Grid::line(32, 32)) else {
        return;
    };
    assert_eq!(counts.load_depth, 5);
}

#[test]
fn kinds_of_instructions_are_told_apart() {
    let source = "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], uint i [[thread_position_in_grid]]) { float x = in[i]; x = exp(x); x = simd_sum(x) + simd_prefix_inclusive_sum(x); x += simd_shuffle_xor(x, 1); out[i] = x; }";
    let Some(counts) = count(source, Grid::line(64, 64)) else {
        return;
    };
    let of = |class| counts.instructions(class);
    assert_eq!(of(Class::Complex), 2);
    assert_eq!(of(Class::Reduction), 2);
    assert_eq!(of(Class::Prefix), 2);
    assert_eq!(of(Class::Shuffle), 2);
    assert_eq!(of(Class::Memory), 4);
    assert_eq!(of(Class::Barrier), 0);
}

#[test]
fn lanes_that_part_are_seen() {
    let source = "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], uint i [[thread_position_in_grid]]) { float x = in[i]; if (i % 4 == 0) { for (uint k = 0; k < 100; ++k) { x = sin(x); } } out[i] = x; }";
    let Some(counts) = count(source, Grid::line(32, 32)) else {
        return;
    };
    let instructions: u64 = Class::ALL[..9]
        .iter()
        .map(|&c| counts.instructions(c))
        .sum();
    let share = counts.active_lanes as f64 / (instructions * 32) as f64;
    assert!((0.25..0.30).contains(&share), "{share}");
}

#[test]
fn counts_do_not_depend_on_the_number_of_workers() {
    let source = "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {\n    threadgroup float x[64]; x[t] = in[i / 3];\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n    float sum = 0; for (uint k = 0; k < i % 7; ++k) sum += x[(t * k) & 63];\n    out[i] = sum;\n}";
    let counted = |workers: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
        pool.expect("a pool")
            .install(|| count(source, Grid::line(3000, 64)))
    };
    let alone = counted(1);
    assert_eq!(counted(3), alone);
    assert_eq!(counted(64), alone);
}

#[test]
fn a_value_carried_beside_a_loaded_one_does_not_depend_on_it() {
    let source = "kernel void k(device float *out [[buffer(0)]], device const float *in [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n    float a = 0, b = 1; for (uint k = i; k < 500; k += 64) { float c = in[k]; a = b; b = c; }\n    out[i] = a - b;\n}";
    let Some(counts) = count(source, Grid::line(64, 64)) else {
        return;
    };
    assert_eq!(counts.load_depth, 1);
}

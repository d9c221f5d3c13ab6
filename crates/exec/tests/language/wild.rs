//! Forms of the language that kernels outside this project rely on.

use super::{floats, run};

#[test]
fn built_ins_may_be_declared_outside_kernels() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        uint2 gid [[thread_position_in_grid]]; ushort lane [[thread_index_in_simdgroup]];\n\
        float twice() { return 2.0f * gid.x; }\n\
        kernel void k(device float* o) { o[gid.x] = twice() + lane; }";
    let Some(buffers) = run(source, "k", vec![floats(|_| 0.0)]) else {
        return;
    };
    let expected: Vec<f32> = (0..32).map(|lane| 3.0 * lane as f32).collect();
    assert_eq!(buffers[0].to_vec::<f32>(), expected);
}

#[test]
fn overloads_by_address_space_are_told_apart() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        void put(device float* p, float v) { p[0] = v; }\n\
        void put(threadgroup float* p, float v) { p[0] = v * 2; }\n\
        template <typename T> T get(const device T* p) { return p[0] + T(1); }\n\
        template <typename T> T get(const threadgroup T* p) { return p[0] + T(2); }\n\
        template <typename T> T get(const thread T* p) { return p[0] + T(3); }\n\
        kernel void k(device float* o, uint i [[thread_position_in_grid]]) {\n\
          threadgroup float t[32]; float l = 1; put(t + i, i); put(o + i, 5);\n\
          o[i] = get(t + i) + get(o + i) * 100 + get(&l) * 1000; }";
    let Some(buffers) = run(source, "k", vec![floats(|_| 0.0)]) else {
        return;
    };
    let expected: Vec<f32> = (0..32).map(|i| (2 * i + 2 + 600 + 4000) as f32).collect();
    assert_eq!(buffers[0].to_vec::<f32>(), expected);
}

#[test]
fn constant_tables_may_hold_addresses() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        constant float a[4] = {1, 2, 3, 4}; constant float b[4] = {5, 6, 7, 8};\n\
        constant float* constant table[2] = {a, b};\n\
        struct Part { constant float* values; uint count; };\n\
        constant Part parts[2] = {{a, 4}, {b + 1, 3}};\n\
        kernel void k(device float* o, uint i [[thread_position_in_grid]]) {\n\
          Part part = parts[i & 1];\n\
          o[i] = table[(i >> 1) & 1][i & 3] + 100 * part.values[i % part.count]; }";
    let Some(buffers) = run(source, "k", vec![floats(|_| 0.0)]) else {
        return;
    };
    let (a, b) = ([1, 2, 3, 4], [5, 6, 7, 8]);
    let expected = |i: usize| {
        let part: &[i32] = if i & 1 == 0 { &a } else { &b[1..] };
        let table = if i >> 1 & 1 == 0 { a } else { b };
        (table[i & 3] + 100 * part[i % part.len()]) as f32
    };
    let expected: Vec<f32> = (0..32).map(expected).collect();
    assert_eq!(buffers[0].to_vec::<f32>(), expected);
}

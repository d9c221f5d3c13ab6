//! Edits by example: a kernel, a step, and the lines that change.

use super::{Original, edit, proposals};
use crate::recipe::Geometry;

/// The lines of the edited text that the original does not have.
fn changed(text: &str, step: &str, threadgroup: &str) -> Result<Vec<String>, String> {
    let geometry = Geometry::threads("65536", threadgroup).expect("a geometry");
    let original = Original {
        text,
        kernel: "k",
        geometry: &geometry,
    };
    let step = step.parse().expect("a step");
    let edited = edit(&original, &step).map_err(|refusal| refusal.why)?;
    let old: Vec<&str> = text.lines().collect();
    let new = edited.text.lines().filter(|line| !old.contains(line));
    Ok(new.map(|line| line.trim().to_owned()).collect())
}

#[track_caller]
fn check(text: &str, step: &str, expected: &[&str]) {
    assert_eq!(
        changed(text, step, "256"),
        Ok(expected.iter().map(|line| (*line).to_owned()).collect())
    );
}

const CHUNKS: &str =
    "kernel void k(device float *y, constant uint &D, uint tid [[thread_position_in_threadgroup]],
                uint TG [[threads_per_threadgroup]]) {
    uint chunk = (D + TG - 1) / TG, first = tid * chunk;
    uint last = min(first + chunk, D);
    for (uint i = first; i < last; i++)
        y[i] = 1; // each
}";

#[test]
fn a_chunk_by_bounds_is_interleaved() {
    check(
        CHUNKS,
        "interleave",
        &["for (uint i = tid; i < min(chunk * TG, D); i += TG)"],
    );
    let row = CHUNKS.replace("first = tid * chunk", "first = 7 * D + chunk * tid");
    check(
        &row,
        "interleave:line=6",
        &["for (uint i = 7 * D + tid; i < min(7 * D + chunk * TG, D); i += TG)"],
    );
    let next = CHUNKS.replace("min(first + chunk, D)", "(tid + 1) * chunk");
    check(
        &next,
        "interleave",
        &["for (uint i = tid; i < chunk * TG; i += TG)"],
    );
    let other = CHUNKS.replace("min(first + chunk, D)", "first + 7");
    assert!(changed(&other, "interleave", "256").is_err());
}

#[test]
fn a_chunk_by_index_is_interleaved_over_the_grid() {
    let text =
        "kernel void k(device float *y, constant uint &n, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 32; k++) {
        uint j = i * 32 + k;
        y[j] += 2 * y[i * 32 + k];
    }
}";
    check(
        text,
        "interleave:line=4",
        &[
            "kernel void k(device float *y, constant uint &n, uint i [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {",
            "uint j = k * threads + i;",
            "y[j] += 2 * y[k * threads + i];",
        ],
    );
    let also = text.replace("2 * y", "k * y");
    assert!(changed(&also, "interleave", "256").is_err());
}

#[test]
fn rows_of_threadgroup_arrays_are_padded() {
    let text = "kernel void k(uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float left[16][16], tile[32][32];
    left[at.x][at.y] = 0;
    tile[at.x][at.y] = 0;
}";
    check(
        text,
        "pad:line=4",
        &["threadgroup float left[16][16], tile[32][33];"],
    );
    let flat = "kernel void k(uint tid [[thread_position_in_threadgroup]]) {
    threadgroup half rows[64 * 32];
    for (uint k = 0; k < 32; k++) rows[k * 2 * 32 + (tid / 32) * 32 + tid % 32] = 0;
    rows[tid * 32] = 1;
}";
    check(
        flat,
        "pad:line=4",
        &[
            "threadgroup half rows[64 * 34];",
            "for (uint k = 0; k < 32; k++) rows[k * 2 * 34 + (tid / 32) * 34 + tid % 32] = 0;",
            "rows[tid * 34] = 1;",
        ],
    );
    let pointer = flat.replace("rows[tid * 32] = 1", "rows[tid * 32] = *rows");
    assert!(changed(&pointer, "pad:line=4", "256").is_err());
}

#[test]
fn atomics_are_combined_in_a_simdgroup() {
    let text = "kernel void k(device atomic_uint *sum, device const uint *x, uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 4; k++) {
        if (x[i] > k) atomic_fetch_add_explicit(sum, x[i] + 1, memory_order_relaxed);
    }
}";
    check(
        text,
        "combine-atomics:line=3",
        &[
            "if (x[i] > k) { const auto combined = simd_sum(x[i] + 1); if (simd_is_first()) atomic_fetch_add_explicit(sum, combined, memory_order_relaxed); }",
        ],
    );
    check(
        text,
        "combine-atomics:line=3,loop",
        &[
            "uint own = 0;",
            "if (x[i] > k) own += x[i] + 1;",
            "own = simd_sum(own);",
            "if (simd_is_first()) atomic_fetch_add_explicit(sum, own, memory_order_relaxed);",
        ],
    );
}

#[test]
fn a_loop_of_one_thread_is_shared() {
    let text = "kernel void k(device float *y, uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    if (tid == 0) {
        float total = 0;
        for (uint i = 0; i < 256; i++) total += part[i];
        y[0] = total;
    }
}";
    check(
        text,
        "share-branch:line=3",
        &[
            "if (tid < 32) {",
            "for (uint i = tid; i < 256; i += 32) total += part[i];",
            "total = simd_sum(total);",
            "if (tid == 0) y[0] = total;",
        ],
    );
    let copied = "kernel void k(uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    if (tid == 0) {
        for (uint i = 0; i < 256; i++)
            part[i] = 0;
    }
}";
    check(
        copied,
        "share-branch:line=5",
        &[
            "kernel void k(uint tid [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]]) {",
            "for (uint i = tid; i < 256; i += threads)",
        ],
    );
    let returns = "kernel void k(device float *y, uint tid [[thread_position_in_threadgroup]]) {
    float v = y[tid];
    if (tid != 0) return;
    for (uint i = 1; i < 256; i++)
        v = max(v, y[i]);
    y[0] = v;
}";
    check(
        returns,
        "share-branch:line=3",
        &[
            "if (tid >= 32) return;",
            "for (uint i = 1 + tid; i < 256; i += 32)",
            "v = simd_max(v);",
            "if (tid == 0) y[0] = v;",
        ],
    );
    let sum = returns.replace("v = max(v, y[i])", "v += y[i]");
    assert!(changed(&sum, "share-branch:line=3", "256").is_err());
}

#[test]
fn barriers_are_taken_out_or_weakened() {
    let text = "kernel void k(device float *y) {
    y[0] = 1;
    threadgroup_barrier(mem_flags::mem_none); // why
    threadgroup_barrier(mem_flags::mem_device);
}";
    check(text, "relax-barrier:line=3", &[]);
    check(
        text,
        "relax-barrier:line=3,simdgroup",
        &["simdgroup_barrier(mem_flags::mem_none); // why"],
    );
    let geometry = Geometry::threads("1", "1").expect("a geometry");
    let original = Original {
        text,
        kernel: "k",
        geometry: &geometry,
    };
    let steps = proposals(&original, "relax-barrier");
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let expected = [
        "relax-barrier",
        "relax-barrier:line=3",
        "relax-barrier:line=4",
        "relax-barrier:simdgroup",
        "relax-barrier:line=3,simdgroup",
        "relax-barrier:line=4,simdgroup",
    ];
    assert_eq!(steps, expected);
}

#[test]
fn kernels_that_are_not_in_the_text_are_refused() {
    let why = |text: &str| changed(text, "relax-barrier", "32").expect_err("a refusal");
    assert_eq!(
        why("kernel void other() {}"),
        "the kernel is not declared by its name in this file"
    );
    assert_eq!(
        why("kernel void k();"),
        "the kernel has no body in this file"
    );
    for text in [
        "kernel void k(",
        "kernel void k() {",
        "kernel void k() { if (",
        "kernel void k() { for (;;",
        "kernel k(){threadgroup float a[;}",
    ] {
        for step in [
            "relax-barrier",
            "pad:line=1",
            "interleave",
            "share-branch:line=1",
            "combine-atomics:line=1",
        ] {
            assert!(changed(text, step, "32").is_err(), "{text} {step}");
        }
    }
}

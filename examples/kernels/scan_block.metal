// Inclusive sum of 256 elements per threadgroup, simdgroup scans joined by one more.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void scan_block(device float *o [[buffer(0)]],
                       device const float *x [[buffer(1)]],
                       constant uint &n [[buffer(2)]],
                       uint i [[thread_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float totals[8];
    float v = i < n ? x[i] : 0.0f;
    float s = simd_prefix_inclusive_sum(v);
    if (lane == 31) totals[sg] = s;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float before = lane < sg ? totals[lane] : 0.0f;
    s += simd_sum(before);
    if (i < n) o[i] = s;
}

// A row per simdgroup; the reductions are single instructions.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void softmax_subgroup(device float *o [[buffer(0)]],
                             device const float *x [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                             uint l [[thread_index_in_simdgroup]],
                             uint r [[threadgroup_position_in_grid]]) {
    float m = -INFINITY;
    for (uint i = l; i < n; i += 32) m = fmax(m, x[r * n + i]);
    m = simd_max(m);
    float s = 0.0f;
    for (uint i = l; i < n; i += 32) s += fast::exp(x[r * n + i] - m);
    s = simd_sum(s);
    for (uint i = l; i < n; i += 32) o[r * n + i] = fast::exp(x[r * n + i] - m) / s;
}

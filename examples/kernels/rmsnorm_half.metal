// Half in and out, float inside; a row per simdgroup.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void rmsnorm_half(device half *o [[buffer(0)]],
                         device const half *x [[buffer(1)]],
                         device const half *g [[buffer(2)]],
                         constant uint &n [[buffer(3)]],
                         constant float &eps [[buffer(4)]],
                         uint l [[thread_position_in_threadgroup]],
                         uint r [[threadgroup_position_in_grid]]) {
    float s = 0.0f;
    for (uint i = l; i < n; i += 32) {
        float v = float(x[r * n + i]);
        s = fma(v, v, s);
    }
    s = simd_sum(s);
    float inv = fast::rsqrt(s / float(n) + eps);
    for (uint i = l; i < n; i += 32) {
        o[r * n + i] = half(float(x[r * n + i]) * inv * float(g[i]));
    }
}

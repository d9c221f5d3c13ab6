// Mean and variance in one pass, eight simdgroups joined through threadgroup memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void layernorm(device float *o [[buffer(0)]],
                      device const float *x [[buffer(1)]],
                      device const float *g [[buffer(2)]],
                      device const float *b [[buffer(3)]],
                      constant uint &n [[buffer(4)]],
                      constant float &eps [[buffer(5)]],
                      uint l [[thread_position_in_threadgroup]],
                      uint r [[threadgroup_position_in_grid]]) {
    threadgroup float red[32];
    float s = 0.0f, s2 = 0.0f;
    for (uint i = l; i < n; i += 256) {
        float v = x[r * n + i];
        s += v;
        s2 = fma(v, v, s2);
    }
    s = simd_sum(s);
    s2 = simd_sum(s2);
    uint sg = l >> 5;
    if ((l & 31) == 0) {
        red[sg] = s;
        red[sg + 8] = s2;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s = 0.0f;
    s2 = 0.0f;
    for (int i = 0; i < 8; ++i) {
        s += red[i];
        s2 += red[8 + i];
    }
    float mean = s / float(n);
    float inv = fast::rsqrt(s2 / float(n) - mean * mean + eps);
    for (uint i = l; i < n; i += 256) {
        o[r * n + i] = (x[r * n + i] - mean) * inv * g[i] + b[i];
    }
}

// A row per threadgroup; maximum and sum by trees in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void softmax(device float *o [[buffer(0)]],
                    device const float *x [[buffer(1)]],
                    constant uint &n [[buffer(2)]],
                    uint l [[thread_position_in_threadgroup]],
                    uint r [[threadgroup_position_in_grid]]) {
    threadgroup float red[256];
    float m = -INFINITY;
    for (uint i = l; i < n; i += 256) {
        m = fmax(m, x[r * n + i]);
    }
    red[l] = m;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 128; s > 0; s >>= 1) {
        if (l < s) red[l] = fmax(red[l], red[l + s]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    m = red[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0.0f;
    for (uint i = l; i < n; i += 256) {
        float e = fast::exp(x[r * n + i] - m);
        o[r * n + i] = e;
        sum += e;
    }
    red[l] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 128; s > 0; s >>= 1) {
        if (l < s) red[l] += red[l + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    float inv = 1.0f / red[0];
    for (uint i = l; i < n; i += 256) {
        o[r * n + i] *= inv;
    }
}

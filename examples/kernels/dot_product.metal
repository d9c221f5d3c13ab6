// Four products per load, grid-stride, joined in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void dot_product(device float *o [[buffer(0)]],
                        device const float4 *a [[buffer(1)]],
                        device const float4 *b [[buffer(2)]],
                        constant uint &n [[buffer(3)]],
                        uint l [[thread_position_in_threadgroup]],
                        uint i0 [[thread_position_in_grid]],
                        uint group [[threadgroup_position_in_grid]]) {
    threadgroup float s[64];
    float acc = 0.0f;
    for (uint i = i0; i < n; i += 64 * 128) acc += dot(a[i], b[i]);
    s[l] = acc;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l < 32) s[l] += s[l + 32];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l == 0) {
        float t = 0.0f;
        for (int j = 0; j < 32; ++j) t += s[j];
        o[group] = t;
    }
}

// Sixteen independent loads before the first use.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void load16_burst(device float4 *o [[buffer(0)]],
                         device const float4 *x [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    float4 s = float4(0.0f);
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        s += x[i + k * 1024];
    }
    o[i] = s;
}

// SiLU on four halves at a time, computed in float.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void silu_half4(device half4 *o [[buffer(0)]],
                       device const half4 *x [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    float4 v = float4(x[i]);
    float4 s = 1.0f / (1.0f + fast::exp2(v * -1.442695041f));
    o[i] = half4(v * s);
}

// Normalises packed three-component vectors.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void vec3_norm(device packed_float3 *o [[buffer(0)]],
                      device const packed_float3 *a [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    float3 v = float3(a[i]);
    float r = fast::rsqrt(dot(v, v));
    o[i] = packed_float3(v * r);
}

// Two-component vectors, one multiply-add each.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void vmul2(device float2 *o [[buffer(0)]],
                  device const float2 *a [[buffer(1)]],
                  device const float2 *b [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    o[i] = a[i] * b[i] + float2(1.0f, 2.0f);
}

// Rotary position embedding in place.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void rope(device float2 *x [[buffer(0)]],
                 device const int *pos [[buffer(1)]],
                 constant float &theta [[buffer(2)]],
                 constant uint &half_dim [[buffer(3)]],
                 uint2 g [[thread_position_in_grid]]) {
    float f = fast::powr(theta, -float(g.x) / float(half_dim)) * float(pos[g.y]);
    float c = fast::cos(f), s = fast::sin(f);
    float2 v = x[g.y * half_dim + g.x];
    x[g.y * half_dim + g.x] = float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

// Transcendentals of a half argument, rounded to half.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void half_math(device half *o [[buffer(0)]],
                      device const half *a [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    half x = a[i];
    o[i] = half(fast::exp2(float(x))) + half(fast::rsqrt(float(x))) + floor(x) + half(1.0f / float(x));
}

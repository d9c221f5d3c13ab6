// A clamped polynomial entirely in half.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void half4_poly(device half4 *y [[buffer(0)]],
                       device const half4 *x [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
    half4 v = x[i];
    half4 r = v * 0.5h + 1.0h;
    r = r * v + 0.25h;
    r = fmax(r, half4(0.0h));
    r = fmin(r, half4(6.0h));
    y[i] = r;
}

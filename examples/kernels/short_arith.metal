// 16-bit integer arithmetic.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void short_arith(device short *o [[buffer(0)]],
                        device const short *a [[buffer(1)]],
                        device const short *b [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
    short x = a[i], y = b[i];
    short r = short(x * y + (x >> 2) - short(y << 1));
    r = max(r, x);
    r = min(r, short(y | 3));
    o[i] = short(r ^ (x & y));
}

// Integer arithmetic of every kind that is not a division.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void int_ops(device int *o [[buffer(0)]],
                    device const int *x [[buffer(1)]],
                    device const int *y [[buffer(2)]],
                    uint i [[thread_position_in_grid]]) {
    int a = x[i], b = y[i];
    int r = a * b + (a << 3) - (b >> 2);
    r ^= a & ~b;
    r |= ~(a ^ b);
    r += min(a, b) + max(a, b) + int(abs(a)) + clamp(a, -5, 77);
    r += mul24(a, b) + mad24(a, b, r) + mulhi(a, b);
    r += (a < b) ? a : b;
    o[i] = r;
}

// Counting, rotating, saturating and averaging.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void uint_bit(device uint *o [[buffer(0)]],
                     device const uint *x [[buffer(1)]],
                     device const uint *y [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
    uint a = x[i], b = y[i];
    uint r = popcount(a) + clz(b) + ctz(a);
    r += rotate(a, b) + rotate(a, 7u) + (a >> (b & 31u)) + (a << (b & 31u));
    r ^= ((a >> 5) & 0x3ffu) | ((b & 0xffu) << 12);
    r += addsat(a, b) + subsat(a, b) + hadd(a, b) + rhadd(a, b) + absdiff(a, b);
    r = (r & ~b) | (a & b);
    o[i] = r;
}

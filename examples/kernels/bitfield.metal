// Shifts, masks and sign extension.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void bitfield(device uint *o [[buffer(0)]],
                     device const uint *x [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    uint v = x[i];
    uint r = ((v >> 0) & 0x1f) * 8;
    r |= (((v >> 5) & 0x3f) * 4) << 8;
    r |= (((v >> 11) & 0x1f) * 8) << 16;
    r |= uint(int(v << 3) >> 20) << 24;
    o[i] = r ^ (v >> 31) ^ uint(int(v) >> 7);
}

// Each threadgroup also writes one number of the part before its own.
// dispatch: 128 threads by 32; buffers of 128 and 128 numbers
#include <metal_stdlib>
using namespace metal;

kernel void overlapping_groups(device float *out [[buffer(0)]],
                               device const float *in [[buffer(1)]],
                               uint i [[thread_position_in_grid]],
                               uint l [[thread_position_in_threadgroup]]) {
    out[i] = in[i];
    if (i > l && l == 0) {
        out[i - 1] = -2.0f - in[i]; // expect: group-race
    }
}

// The lanes the numbers come from are not there.
// dispatch: 64 threads by 32; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void shuffle_from_inactive(device float *out [[buffer(0)]],
                                  device const float *in [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) {
    float x = in[i];
    if ((i & 31) < 16) {
        x += simd_shuffle_down(x, 16); // expect: inactive-lane
    }
    out[i] = x;
}

// Lanes of one simdgroup read what their neighbours wrote, with nothing to order them.
// dispatch: 64 threads by 64; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void lockstep_assumed(device float *out [[buffer(0)]],
                             device const float *in [[buffer(1)]],
                             uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[i] = in[i];
    out[i] = tile[i ^ 1]; // expect: race
}

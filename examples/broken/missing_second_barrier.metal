// The tile is refilled while others still read it.
// dispatch: 64 threads by 64; buffers of 64 and 256 numbers
#include <metal_stdlib>
using namespace metal;

kernel void missing_second_barrier(device float *out [[buffer(0)]],
                                   device const float *in [[buffer(1)]],
                                   uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    float sum = 0.0f;
    for (uint t = 0; t < 4; ++t) {
        tile[i] = in[t * 64 + i]; // expect: race
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += tile[(i + 32) % 64];
    }
    out[i] = sum;
}

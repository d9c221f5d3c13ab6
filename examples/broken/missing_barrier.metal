// The other half of the threadgroup may not have written yet.
// dispatch: 64 threads by 64; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void missing_barrier(device float *out [[buffer(0)]],
                            device const float *in [[buffer(1)]],
                            uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[i] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tile[i] = in[i];
    out[i] = tile[63 - i]; // expect: race
}

// A stencil whose right edge lies outside the array in threadgroup memory.
// dispatch: 64 threads by 64; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void threadgroup_past_end(device float *out [[buffer(0)]],
                                 device const float *in [[buffer(1)]],
                                 uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[i] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[i] + tile[i + 1]; // expect: out-of-bounds
}

// Threads past the end are gone when the others wait for them.
// dispatch: 64 threads by 64; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void early_exit_barrier(device float *out [[buffer(0)]],
                               device const float *in [[buffer(1)]],
                               uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    if (i >= 40) {
        return;
    }
    tile[i] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup); // expect: divergent-barrier
    out[i] = tile[39 - i];
}

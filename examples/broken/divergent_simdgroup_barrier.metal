// Half of the lanes do not come to the barrier of their simdgroup.
// dispatch: 64 threads by 64; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void divergent_simdgroup_barrier(device float *out [[buffer(0)]],
                                        device const float *in [[buffer(1)]],
                                        uint i [[thread_position_in_threadgroup]]) {
    threadgroup float tile[64];
    tile[i] = in[i];
    if (i % 2 == 0) {
        simdgroup_barrier(mem_flags::mem_threadgroup); // expect: divergent-barrier
    }
    out[i] = tile[i];
}

// All lanes of a simdgroup store the same, which is no race; that the other simdgroup reads it without a barrier is one.
// dispatch: 64 threads by 64; buffers of 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void stored_by_all_lanes(device float *out [[buffer(0)]],
                                uint i [[thread_position_in_threadgroup]],
                                uint s [[simdgroup_index_in_threadgroup]]) {
    threadgroup float limit[1];
    if (s == 0)
        limit[0] = 4.0f;
    if (s == 1)
        out[i] = limit[0]; // expect: race
}

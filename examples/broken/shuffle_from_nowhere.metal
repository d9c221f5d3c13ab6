// The last lanes ask for lanes that a simdgroup does not have.
// dispatch: 64 threads by 32; buffers of 64 and 64 numbers
#include <metal_stdlib>
using namespace metal;

kernel void shuffle_from_nowhere(device float *out [[buffer(0)]],
                                 device const float *in [[buffer(1)]],
                                 uint i [[thread_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    out[i] = simd_shuffle(in[i], ushort(lane + 5)); // expect: inactive-lane
}

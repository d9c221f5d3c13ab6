// Every way to read another lane.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void subgroup_shuffle(device float *o [[buffer(0)]],
                             device const float *x [[buffer(1)]],
                             uint i [[thread_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    float v = x[i];
    v += simd_shuffle_xor(v, 16);
    v += simd_shuffle_xor(v, 8);
    v += simd_shuffle_down(v, 4);
    v += simd_shuffle_up(v, 2);
    v += simd_shuffle(v, ushort(lane ^ 5));
    v += simd_broadcast_first(v);
    o[i] = v;
}

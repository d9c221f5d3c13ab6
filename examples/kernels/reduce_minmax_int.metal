// Integer minimum and maximum of a simdgroup.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void reduce_minmax_int(device int *o [[buffer(0)]],
                              device const int *x [[buffer(1)]],
                              uint i [[thread_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]],
                              uint group [[threadgroup_position_in_grid]]) {
    int v = x[i];
    int mn = simd_min(v), mx = simd_max(v);
    if (lane == 0) {
        o[2 * group] = mn;
        o[2 * group + 1] = mx;
    }
}

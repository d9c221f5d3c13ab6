// Float atomics: the sum depends on the order, which is why results are compared with a tolerance.
#include <metal_stdlib>
using namespace metal;

kernel void atomic_float_sum(device atomic_float *total [[buffer(0)]],
                             device const float *x [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                             uint i [[thread_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    float s = simd_sum(i < n ? x[i] : 0.0f);
    if (lane == 0) {
        atomic_fetch_add_explicit(total, s, memory_order_relaxed);
    }
}

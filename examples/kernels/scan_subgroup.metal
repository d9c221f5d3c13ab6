// Exclusive and inclusive prefix sums of a simdgroup.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(32)]]
kernel void scan_subgroup(device uint *o [[buffer(0)]],
                          device const uint *x [[buffer(1)]],
                          device float *fo [[buffer(2)]],
                          device const float *fx [[buffer(3)]],
                          uint g [[thread_position_in_grid]]) {
    o[g] = simd_prefix_exclusive_sum(x[g]);
    fo[g] = simd_prefix_inclusive_sum(fx[g]);
}

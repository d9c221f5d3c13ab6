// Indirect loads and an indirect store.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void gather_scatter(device float *o [[buffer(0)]],
                           device const float *x [[buffer(1)]],
                           device const int *gi [[buffer(2)]],
                           device const int *si [[buffer(3)]],
                           uint i [[thread_position_in_grid]]) {
    o[si[i]] = x[gi[i]] + x[gi[i + 1]];
}

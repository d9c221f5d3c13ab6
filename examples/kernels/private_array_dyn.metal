// An array in thread memory, indexed by data.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void private_array_dyn(device float *o [[buffer(0)]],
                              device const float *x [[buffer(1)]],
                              device const int *idx [[buffer(2)]],
                              uint i [[thread_position_in_grid]]) {
    float a[16];
    for (int k = 0; k < 16; ++k) a[k] = x[i * 16 + k];
    float s = 0.0f;
    for (int k = 0; k < 16; ++k) s += a[idx[k] & 15];
    o[i] = s;
}

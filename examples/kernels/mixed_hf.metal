// Half times float, accumulated in float.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void mixed_hf(device float *o [[buffer(0)]],
                     device const half *x [[buffer(1)]],
                     device const float *w [[buffer(2)]],
                     uint i [[thread_position_in_grid]]) {
    float acc = 0.0f;
    for (int j = 0; j < 8; ++j) {
        acc += float(x[i * 8 + j]) * w[j];
    }
    o[i] = acc;
}

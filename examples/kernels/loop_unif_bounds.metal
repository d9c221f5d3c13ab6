// A uniform loop around a divergent select.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void loop_unif_bounds(device float *o [[buffer(0)]],
                             device const float *x [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                             uint i [[thread_position_in_grid]]) {
    float a = 0.0f;
    for (uint k = 0; k < n; ++k) {
        a = a * 0.99f + x[k];
        if (a > 100.0f) a -= 50.0f;
    }
    o[i] = a + float(i);
}

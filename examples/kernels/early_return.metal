// Returns from three places, one of them inside a loop.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void early_return(device float *o [[buffer(0)]],
                         device const float *x [[buffer(1)]],
                         constant int &n [[buffer(2)]],
                         uint g [[thread_position_in_grid]]) {
    int i = int(g);
    if (i >= n) return;
    float v = x[i];
    if (v < 0.0f) {
        o[i] = 0.0f;
        return;
    }
    for (int k = 0; k < 10; ++k) {
        v = fast::sqrt(v);
        if (v < 1.001f) {
            o[i] = float(k);
            return;
        }
        o[i + n * k] = v;
    }
    o[i] = v;
}

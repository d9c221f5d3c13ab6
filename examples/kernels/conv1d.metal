// Nine taps with clamped borders.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void conv1d(device float *o [[buffer(0)]],
                   device const float *x [[buffer(1)]],
                   device const float *f [[buffer(2)]],
                   constant int &n [[buffer(3)]],
                   uint g [[thread_position_in_grid]]) {
    int i = int(g);
    float a = 0.0f;
    for (int k = -4; k <= 4; ++k) {
        int p = clamp(i + k, 0, n - 1);
        a = fma(x[p], f[k + 4], a);
    }
    o[i] = a;
}

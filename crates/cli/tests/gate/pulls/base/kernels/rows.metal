#include <metal_stdlib>
using namespace metal;

kernel void row_sum(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                    uint r [[thread_position_in_grid]]) {
    float sum = 0.0f;
    for (uint i = 0; i < n; ++i)
        sum += x[r * n + i];
    y[r] = sum;
}

kernel void argmax(device const float *x [[buffer(0)]], device uint *y [[buffer(1)]], constant uint &n [[buffer(2)]],
                   uint r [[thread_position_in_grid]]) {
    uint best = 0;
    for (uint i = 1; i < n; ++i)
        if (x[r * n + i] > x[r * n + best])
            best = i;
    y[r] = best;
}

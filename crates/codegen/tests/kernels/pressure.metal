// Ninety numbers that are needed twice: 180 half registers, unless there are fewer.
#include <metal_stdlib>
using namespace metal;

static float twice(device const float* x, uint i, uint n) {
    float v[90];
    float sum = 0.0f;
#pragma unroll
    for (uint k = 0; k < 90; ++k) {
        v[k] = x[i + k * n];
        sum += v[k];
    }
    float again = 0.0f;
#pragma unroll
    for (uint k = 0; k < 90; ++k) {
        again = fma(v[k], sum, again);
    }
    return again;
}

kernel void pressure_free(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                          constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    y[i] = twice(x, i, n);
}

[[max_total_threads_per_threadgroup(1024)]]
kernel void pressure_1024(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                          constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    y[i] = twice(x, i, n);
}

[[max_total_threads_per_threadgroup(512)]]
kernel void pressure_512(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                         constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    y[i] = twice(x, i, n);
}

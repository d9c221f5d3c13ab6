// A polynomial whose coefficients are the same for every thread.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void uniform_load(device float *o [[buffer(0)]],
                         constant float *c [[buffer(1)]],
                         device const float *x [[buffer(2)]],
                         constant uint &row [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
    float w0 = c[row * 4], w1 = c[row * 4 + 1], w2 = c[row * 4 + 2], w3 = c[row * 4 + 3];
    float v = x[i];
    o[i] = ((w3 * v + w2) * v + w1) * v + w0;
}

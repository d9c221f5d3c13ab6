// The tanh form of GELU through exp2.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void gelu_tanh(device float *o [[buffer(0)]],
                      device const float *x [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    float v = x[i];
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    float e = fast::exp2(u * 2.885390082f);
    float t = 1.0f - 2.0f / (e + 1.0f);
    o[i] = 0.5f * v * (1.0f + t);
}

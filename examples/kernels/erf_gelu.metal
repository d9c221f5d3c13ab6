// The erf form of GELU; erf by a rational approximation (Abramowitz and Stegun 7.1.26, |error| < 1.5e-7).
#include <metal_stdlib>
using namespace metal;

static float erf_approximate(float x) {
    float a = fabs(x);
    float t = 1.0f / (1.0f + 0.3275911f * a);
    float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    return copysign(1.0f - p * exp(-a * a), x);
}

[[max_total_threads_per_threadgroup(64)]]
kernel void erf_gelu(device float *o [[buffer(0)]],
                     device const float *x [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    float v = x[i];
    o[i] = 0.5f * v * (1.0f + erf_approximate(v * 0.70710678f));
}

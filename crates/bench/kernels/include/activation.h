#pragma once
// Activation functions, each stable over the whole range.

inline float relu(float x) { return max(x, 0.0f); }

inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

inline float silu(float x) { return x * sigmoid(x); }

inline float softplus(float x) { return max(x, 0.0f) + log(1.0f + exp(-fabs(x))); }

// tanh(log(1 + e)) is t / (t + 2) with t = e (e + 2), e = exp(x); beyond 20 it is 1 in single precision.
inline float mish(float x) {
    float e = exp(min(x, 20.0f));
    float t = e * (e + 2.0f);
    return x * (t / (t + 2.0f));
}

// Abramowitz and Stegun 7.1.26, absolute error below 1.5e-7. Metal has no erf.
inline float erf_approximate(float x) {
    float a = fabs(x);
    float t = 1.0f / (1.0f + 0.3275911f * a);
    float p = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t + 0.254829592f) * t;
    return copysign(1.0f - p * exp(-a * a), x);
}

inline float gelu(float x) { return 0.5f * x * (1.0f + erf_approximate(x * 0.70710678118654752f)); }

// precise: the fast tanh overflows for large arguments.
inline float gelu_tanh(float x) {
    return 0.5f * x * (1.0f + precise::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}

// Every function that fast math computes otherwise, in float, half and vectors, and angles of any size.
#include <metal_stdlib>
using namespace metal;

#define UNARY(X)                                                                    \
  X(sqrt) X(rsqrt) X(exp) X(exp2) X(exp10) X(log) X(log2) X(log10) X(sin) X(cos)    \
  X(tan) X(sinpi) X(cospi) X(tanpi) X(asin) X(acos) X(atan) X(sinh) X(cosh)         \
  X(tanh) X(asinh) X(acosh) X(atanh) X(fract) X(round) X(rint) X(floor) X(ceil)     \
  X(trunc) X(saturate) X(sign)
#define BINARY(X) X(pow) X(powr) X(atan2) X(fmod) X(divide) X(fmin) X(fmax)

#define STORE_1(name) r[at++] = name(x);
#define STORE_2(name) r[at++] = name(x, y);
#define STORE_PRECISE_1(name) r[at++] = precise::name(x);
#define STORE_PRECISE_2(name) r[at++] = precise::name(x, y);

template <typename T> void functions(device T *r, T x, T y, uint at) {
  UNARY(STORE_1) BINARY(STORE_2)
  r[at++] = x / y;
  r[at++] = T(1) / x;
  r[at++] = T(-1) / x;
  r[at++] = T(1) / sqrt(y);
  r[at++] = clamp(x, T(0), T(1));
  r[at++] = clamp(x, y, T(2));
  r[at++] = median3(x, y, T(1));
  r[at++] = smoothstep(y, T(1), x);
}

kernel void fast_functions_of_float(device float *r [[buffer(0)]], device const float *x [[buffer(1)]],
                                    uint i [[thread_position_in_grid]]) {
  functions(r, x[2 * i], x[2 * i + 1], i * 46);
}

kernel void fast_functions_of_half(device half *r [[buffer(0)]], device const half *x [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) {
  functions(r, x[2 * i], x[2 * i + 1], i * 46);
}

kernel void fast_functions_of_vectors(device half4 *r [[buffer(0)]], device const half4 *x [[buffer(1)]],
                                      uint i [[thread_position_in_grid]]) {
  half4 a = x[2 * i], b = x[2 * i + 1];
  r[4 * i] = a / b;
  r[4 * i + 1] = tanh(a) + fract(b);
  r[4 * i + 2] = clamp(a, 0.0h, 1.0h);
  r[4 * i + 3] = half4(float4(a) / float4(b));
}

kernel void brain_quotients(device bfloat *r [[buffer(0)]], device const bfloat *x [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
  r[2 * i] = x[2 * i] / x[2 * i + 1];
  r[2 * i + 1] = bfloat(1.0f) / x[2 * i];
}

kernel void precise_functions(device float *r [[buffer(0)]], device half *h [[buffer(1)]],
                              device const float *xs [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  uint at = i * 38;
  {
    float x = xs[2 * i], y = xs[2 * i + 1];
    UNARY(STORE_PRECISE_1) BINARY(STORE_PRECISE_2)
  }
  {
    half x = half(xs[2 * i]);
    h[3 * i] = precise::exp(x);
    h[3 * i + 1] = precise::sin(x);
    h[3 * i + 2] = precise::divide(x, half(xs[2 * i + 1]));
  }
}

kernel void angles_of_any_size(device float *r [[buffer(0)]], device const float *x [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
  // All exponents, one after the other.
  float far = ldexp(1.0f + abs(fract(x[i])), int(i % 140));
  r[3 * i] = precise::sin(far);
  r[3 * i + 1] = precise::cos(-far);
  if (i % 3 != 0) r[3 * i + 2] = precise::tan(far * 0.7f);
}

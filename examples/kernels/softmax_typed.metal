// Half and bfloat rows, computed in float.
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void softmax_typed(device T *o [[buffer(0)]],
                          device const T *x [[buffer(1)]],
                          constant uint &n [[buffer(2)]],
                          uint l [[thread_index_in_simdgroup]],
                          uint r [[threadgroup_position_in_grid]]) {
    float m = -INFINITY;
    for (uint i = l; i < n; i += 32) m = max(m, float(x[r * n + i]));
    m = simd_max(m);
    float s = 0.0f;
    for (uint i = l; i < n; i += 32) s += exp(float(x[r * n + i]) - m);
    s = simd_sum(s);
    for (uint i = l; i < n; i += 32) o[r * n + i] = T(exp(float(x[r * n + i]) - m) / s);
}

template [[host_name("softmax_f16")]] kernel void softmax_typed<half>(
    device half *, device const half *, constant uint &, uint, uint);
template [[host_name("softmax_bf16")]] kernel void softmax_typed<bfloat>(
    device bfloat *, device const bfloat *, constant uint &, uint, uint);

// Attention of one head: softmax(q k^T / sqrt(size)) v: a threadgroup per query.
#include <metal_stdlib>
using namespace metal;
#include "attention.h"

template <typename T>
kernel void softmax_attention(device const T *q [[buffer(0)]],
                              device const T *k [[buffer(1)]],
                              device const T *v [[buffer(2)]],
                              device T *y [[buffer(3)]],
                              constant uint &rows [[buffer(4)]],
                              constant uint &size [[buffer(5)]],
                              ATTENTION_PARAMETERS) {
    threadgroup float memory[ATTENTION_MEMORY];
    attend(q + group.y * size, k, v, y + group.y * size, rows, size, size, size, rsqrt(float(size)),
           lane, simdgroup, memory);
}

template [[host_name("softmax_attention_f32")]] kernel void softmax_attention<float>(
    device const float *, device const float *, device const float *, device float *, constant uint &, constant uint &, ATTENTION_TYPES);
template [[host_name("softmax_attention_f16")]] kernel void softmax_attention<half>(
    device const half *, device const half *, device const half *, device half *, constant uint &, constant uint &, ATTENTION_TYPES);
template [[host_name("softmax_attention_bf16")]] kernel void softmax_attention<bfloat>(
    device const bfloat *, device const bfloat *, device const bfloat *, device bfloat *, constant uint &, constant uint &, ATTENTION_TYPES);

// Product of two square matrices.
#include <metal_stdlib>
using namespace metal;
#include "tile.h"

template <typename T>
kernel void sqr_matmul(device const T *a [[buffer(0)]],
                       device const T *b [[buffer(1)]],
                       device T *c [[buffer(2)]],
                       constant uint &m [[buffer(3)]],
                       constant uint &n [[buffer(4)]],
                       constant uint &k [[buffer(5)]],
                       TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<T>{a, k}, Matrix<T>{b, n}, StoreMatrix<T, Same>{c, n, Same()});
}

template [[host_name("sqr_matmul_f32")]] kernel void sqr_matmul<float>(
    device const float *, device const float *, device float *, constant uint &, constant uint &, constant uint &, TILE_TYPES);
template [[host_name("sqr_matmul_f16")]] kernel void sqr_matmul<half>(
    device const half *, device const half *, device half *, constant uint &, constant uint &, constant uint &, TILE_TYPES);
template [[host_name("sqr_matmul_bf16")]] kernel void sqr_matmul<bfloat>(
    device const bfloat *, device const bfloat *, device bfloat *, constant uint &, constant uint &, constant uint &, TILE_TYPES);

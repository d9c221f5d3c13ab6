// Queries, keys and values in one product of two matrices.
#include <metal_stdlib>
using namespace metal;
#include "tile.h"

kernel void fused_qkv_projection_f32(device const float *x [[buffer(0)]],
                                     device const float *w [[buffer(1)]],
                                     device float *y [[buffer(2)]],
                                     constant uint &m [[buffer(3)]],
                                     constant uint &n [[buffer(4)]],
                                     constant uint &k [[buffer(5)]],
                                     TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{w, n}, StoreMatrix<float, Same>{y, n, Same()});
}

// gelu of a product of two matrices, with erf.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "tile.h"

struct Activate {
    float operator()(float value, uint) const { return gelu(value); }
};

kernel void gelu_linear_f32(device const float *x [[buffer(0)]],
                            device const float *w [[buffer(1)]],
                            device float *y [[buffer(2)]],
                            constant uint &m [[buffer(3)]],
                            constant uint &n [[buffer(4)]],
                            constant uint &k [[buffer(5)]],
                            TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{w, n}, StoreMatrix<float, Activate>{y, n, Activate()});
}

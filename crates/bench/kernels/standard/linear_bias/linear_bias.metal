// Product of two matrices with a vector added to every row.
#include <metal_stdlib>
using namespace metal;
#include "tile.h"

struct AddBias {
    device const float *bias;
    float operator()(float value, uint col) const { return value + bias[col]; }
};

kernel void linear_bias_f32(device const float *x [[buffer(0)]],
                            device const float *w [[buffer(1)]],
                            device const float *bias [[buffer(2)]],
                            device float *y [[buffer(3)]],
                            constant uint &m [[buffer(4)]],
                            constant uint &n [[buffer(5)]],
                            constant uint &k [[buffer(6)]],
                            TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{w, n}, StoreMatrix<float, AddBias>{y, n, AddBias{bias}});
}

// Product of two matrices, less a number, times a number, nothing below 0.
#include <metal_stdlib>
using namespace metal;
#include "tile.h"

struct SubtractScaleRelu {
    float subtracted, factor;
    float operator()(float value, uint) const { return max((value - subtracted) * factor, 0.0f); }
};

kernel void matmul_sub_mul_relu_f32(device const float *x [[buffer(0)]],
                                    device const float *w [[buffer(1)]],
                                    device float *y [[buffer(2)]],
                                    constant uint &m [[buffer(3)]],
                                    constant uint &n [[buffer(4)]],
                                    constant uint &k [[buffer(5)]],
                                    constant float &subtracted [[buffer(6)]],
                                    constant float &factor [[buffer(7)]],
                                    TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    multiply_tile(m, n, k, group.xy, index, lane, simdgroup, memory,
                  Matrix<float>{x, k}, Matrix<float>{w, n}, StoreMatrix<float, SubtractScaleRelu>{y, n, SubtractScaleRelu{subtracted, factor}});
}

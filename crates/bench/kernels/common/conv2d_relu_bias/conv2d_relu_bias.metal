// Convolution of images plus a number per filter, nothing below 0.
#include <metal_stdlib>
using namespace metal;
#include "convolution.h"
#include "tile.h"

struct BiasRelu {
    device const float *bias;
    float operator()(float value, uint filter) const { return max(value + bias[filter], 0.0f); }
};

kernel void conv2d_relu_bias_f32(device const float *x [[buffer(0)]],
                                 device const float *w [[buffer(1)]],
                                 device const float *bias [[buffer(2)]],
                                 device float *y [[buffer(3)]],
                                 constant uint &batch [[buffer(4)]],
                                 constant uint &channels [[buffer(5)]],
                                 constant uint &height [[buffer(6)]],
                                 constant uint &width [[buffer(7)]],
                                 constant uint &filters [[buffer(8)]],
                                 constant uint &window_height [[buffer(9)]],
                                 constant uint &window_width [[buffer(10)]],
                                 TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = convolution_2d(height, width, channels, window_height, window_width, 1);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  Patches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, BiasRelu>{y, filters, BiasRelu{bias}});
}

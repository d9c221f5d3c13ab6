// Convolution of images, then mish twice.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "convolution.h"
#include "tile.h"

struct MishMish {
    float operator()(float value, uint) const { return mish(mish(value)); }
};

kernel void conv2d_mish_mish_f32(device const float *x [[buffer(0)]],
                                 device const float *w [[buffer(1)]],
                                 device float *y [[buffer(2)]],
                                 constant uint &batch [[buffer(3)]],
                                 constant uint &channels [[buffer(4)]],
                                 constant uint &height [[buffer(5)]],
                                 constant uint &width [[buffer(6)]],
                                 constant uint &filters [[buffer(7)]],
                                 constant uint &window_height [[buffer(8)]],
                                 constant uint &window_width [[buffer(9)]],
                                 TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = convolution_2d(height, width, channels, window_height, window_width, 1);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  Patches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, MishMish>{y, filters, MishMish()});
}

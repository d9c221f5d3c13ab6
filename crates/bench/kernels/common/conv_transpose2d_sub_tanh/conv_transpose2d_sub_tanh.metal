// Transposed convolution of images, less a number, then tanh.
#include <metal_stdlib>
using namespace metal;
#include "convolution.h"
#include "tile.h"

struct SubtractTanh {
    float subtracted;
    float operator()(float value, uint) const { return precise::tanh(value - subtracted); }
};

kernel void conv_transpose2d_sub_tanh_f32(device const float *x [[buffer(0)]],
                                          device const float *w [[buffer(1)]],
                                          device float *y [[buffer(2)]],
                                          constant uint &batch [[buffer(3)]],
                                          constant uint &channels [[buffer(4)]],
                                          constant uint &height [[buffer(5)]],
                                          constant uint &width [[buffer(6)]],
                                          constant uint &filters [[buffer(7)]],
                                          constant uint &window [[buffer(8)]],
                                          constant uint &stride [[buffer(9)]],
                                          constant float &subtracted [[buffer(10)]],
                                          TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = transposed_2d(height, width, channels, window, stride);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  SpreadPatches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, SubtractTanh>{y, filters, SubtractTanh{subtracted}});
}

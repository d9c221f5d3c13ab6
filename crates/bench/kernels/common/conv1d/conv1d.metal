// Convolution along a line, channels last.
#include <metal_stdlib>
using namespace metal;
#include "convolution.h"
#include "tile.h"

kernel void conv1d_f32(device const float *x [[buffer(0)]],
                       device const float *w [[buffer(1)]],
                       device float *y [[buffer(2)]],
                       constant uint &batch [[buffer(3)]],
                       constant uint &channels [[buffer(4)]],
                       constant uint &length [[buffer(5)]],
                       constant uint &filters [[buffer(6)]],
                       constant uint &window [[buffer(7)]],
                       constant uint &stride [[buffer(8)]],
                       TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = convolution_2d(1, length, channels, 1, window, stride);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  Patches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, Same>{y, filters, Same()});
}

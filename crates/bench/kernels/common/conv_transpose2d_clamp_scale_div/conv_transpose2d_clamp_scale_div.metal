// Transposed convolution of images plus a number per filter, limited, scaled, limited, divided.
#include <metal_stdlib>
using namespace metal;
#include "convolution.h"
#include "tile.h"

struct ClampScaleDivide {
    device const float *bias;
    float scale, divisor;
    float operator()(float value, uint filter) const {
        float limited = clamp(value + bias[filter], -1.0f, 1.0f) * scale;
        return clamp(limited, -1.0f, 1.0f) / divisor;
    }
};

kernel void conv_transpose2d_clamp_scale_div_f32(device const float *x [[buffer(0)]],
                                                 device const float *w [[buffer(1)]],
                                                 device const float *bias [[buffer(2)]],
                                                 device float *y [[buffer(3)]],
                                                 constant uint &batch [[buffer(4)]],
                                                 constant uint &channels [[buffer(5)]],
                                                 constant uint &height [[buffer(6)]],
                                                 constant uint &width [[buffer(7)]],
                                                 constant uint &filters [[buffer(8)]],
                                                 constant uint &window [[buffer(9)]],
                                                 constant uint &stride [[buffer(10)]],
                                                 constant float &scale [[buffer(11)]],
                                                 constant float &divisor [[buffer(12)]],
                                                 TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = transposed_2d(height, width, channels, window, stride);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  SpreadPatches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, ClampScaleDivide>{y, filters, ClampScaleDivide{bias, scale, divisor}});
}

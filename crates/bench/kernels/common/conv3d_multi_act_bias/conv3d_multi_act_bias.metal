// Convolution of volumes, then relu, leaky relu, gelu and the logistic function, plus a number per filter.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "convolution.h"
#include "tile.h"

struct Activations {
    device const float *bias;
    float operator()(float value, uint filter) const {
        float positive = relu(value);
        float leaky = positive > 0.0f ? positive : 0.01f * positive;
        return sigmoid(gelu(leaky)) + bias[filter];
    }
};

kernel void conv3d_multi_act_bias_f32(device const float *x [[buffer(0)]],
                                      device const float *w [[buffer(1)]],
                                      device const float *bias [[buffer(2)]],
                                      device float *y [[buffer(3)]],
                                      constant uint &batch [[buffer(4)]],
                                      constant uint &channels [[buffer(5)]],
                                      constant uint &depth [[buffer(6)]],
                                      constant uint &height [[buffer(7)]],
                                      constant uint &width [[buffer(8)]],
                                      constant uint &filters [[buffer(9)]],
                                      constant uint &window [[buffer(10)]],
                                      TILE_PARAMETERS) {
    threadgroup float memory[TILE_MEMORY];
    Convolution c = convolution_3d(depth, height, width, channels, window, 1);
    multiply_tile(batch * places(c), filters, taps(c), group.xy, index, lane, simdgroup, memory,
                  Patches{x, c}, Transposed<float>{w, taps(c)}, StoreMatrix<float, Activations>{y, filters, Activations{bias}});
}

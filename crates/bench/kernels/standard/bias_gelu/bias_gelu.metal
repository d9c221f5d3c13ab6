// Adds a vector to every row, then gelu with erf.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "elementwise.h"

struct BiasGelu {
    float operator()(float x, float bias) const { return gelu(x + bias); }
};

kernel void bias_gelu_f32(device const float *x [[buffer(0)]],
                          device const float *bias [[buffer(1)]],
                          device float *y [[buffer(2)]],
                          constant uint &n [[buffer(3)]],
                          constant uint &cols [[buffer(4)]],
                          constant uint &grid_size [[buffer(5)]],
                          uint i [[thread_position_in_grid]]) {
    each_with_column(x, bias, y, n, cols, i, grid_size, BiasGelu());
}

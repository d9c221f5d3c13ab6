// Scaled exponential linear unit.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Selu {
    float operator()(float x) const { return 1.0507009873554805f * (x > 0.0f ? x : 1.6732632423543772f * (exp(x) - 1.0f)); }
};

kernel void selu_f32(device const float *x [[buffer(0)]],
                     device float *y [[buffer(1)]],
                     constant uint &n [[buffer(2)]],
                     constant uint &grid_size [[buffer(3)]],
                     uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Selu());
}

// Piecewise linear logistic function: x / 6 + 1/2 between 0 and 1.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Hardsigmoid {
    float operator()(float x) const { return clamp(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f); }
};

kernel void hardsigmoid_f32(device const float *x [[buffer(0)]],
                            device float *y [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                            constant uint &grid_size [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Hardsigmoid());
}

// Piecewise linear swish: x clip(x + 3, 0, 6) / 6.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Hardswish {
    float operator()(float x) const { return x * clamp(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f); }
};

kernel void hardswish_f32(device const float *x [[buffer(0)]],
                          device float *y [[buffer(1)]],
                          constant uint &n [[buffer(2)]],
                          constant uint &grid_size [[buffer(3)]],
                          uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Hardswish());
}

// Rectified linear unit with a slope per column for what is below 0.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Prelu {
    float operator()(float x, float alpha) const { return x > 0.0f ? x : alpha * x; }
};

kernel void prelu_f32(device const float *x [[buffer(0)]],
                      device const float *alpha [[buffer(1)]],
                      device float *y [[buffer(2)]],
                      constant uint &n [[buffer(3)]],
                      constant uint &cols [[buffer(4)]],
                      constant uint &grid_size [[buffer(5)]],
                      uint i [[thread_position_in_grid]]) {
    each_with_column(x, alpha, y, n, cols, i, grid_size, Prelu());
}

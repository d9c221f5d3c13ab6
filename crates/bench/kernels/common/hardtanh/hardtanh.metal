// Limits to the range from -1 to 1.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Hardtanh {
    float operator()(float x) const { return clamp(x, -1.0f, 1.0f); }
};

kernel void hardtanh_f32(device const float *x [[buffer(0)]],
                         device float *y [[buffer(1)]],
                         constant uint &n [[buffer(2)]],
                         constant uint &grid_size [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Hardtanh());
}

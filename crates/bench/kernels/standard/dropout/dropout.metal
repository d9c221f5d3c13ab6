// Inverted dropout with a given mask: mask x / (1 - p).
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Dropout {
    float p;
    float operator()(float x, float mask) const { return mask * x * (1.0f / (1.0f - p)); }
};

kernel void dropout_f32(device const float *x [[buffer(0)]],
                        device const float *mask [[buffer(1)]],
                        device float *y [[buffer(2)]],
                        constant uint &n [[buffer(3)]],
                        constant uint &grid_size [[buffer(4)]],
                        constant float &p [[buffer(5)]],
                        uint i [[thread_position_in_grid]]) {
    each_of_two(x, mask, y, n, i, grid_size, Dropout{p});
}

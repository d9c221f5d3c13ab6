// Exponential linear unit: x above 0, alpha (exp(x) - 1) below.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Elu {
    float alpha;
    float operator()(float x) const { return x > 0.0f ? x : alpha * (exp(x) - 1.0f); }
};

kernel void elu_f32(device const float *x [[buffer(0)]],
                    device float *y [[buffer(1)]],
                    constant uint &n [[buffer(2)]],
                    constant uint &grid_size [[buffer(3)]],
                    constant float &alpha [[buffer(4)]],
                    uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Elu{alpha});
}

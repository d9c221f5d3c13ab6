// Smooth rectified linear unit: log(1 + exp(x)).
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "elementwise.h"

struct Softplus {
    float operator()(float x) const { return softplus(x); }
};

kernel void softplus_f32(device const float *x [[buffer(0)]],
                         device float *y [[buffer(1)]],
                         constant uint &n [[buffer(2)]],
                         constant uint &grid_size [[buffer(3)]],
                         uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Softplus());
}

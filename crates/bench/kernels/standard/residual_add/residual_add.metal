// A scaled residual added: x + alpha residual.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct ResidualAdd {
    float alpha;
    float operator()(float x, float residual) const { return x + alpha * residual; }
};

kernel void residual_add_f32(device const float *x [[buffer(0)]],
                             device const float *residual [[buffer(1)]],
                             device float *y [[buffer(2)]],
                             constant uint &n [[buffer(3)]],
                             constant uint &grid_size [[buffer(4)]],
                             constant float &alpha [[buffer(5)]],
                             uint i [[thread_position_in_grid]]) {
    each_of_two(x, residual, y, n, i, grid_size, ResidualAdd{alpha});
}

// Exponential function.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Exp {
    float operator()(float x) const { return exp(x); }
};

kernel void exp_f32(device const float *x [[buffer(0)]],
                    device float *y [[buffer(1)]],
                    constant uint &n [[buffer(2)]],
                    constant uint &grid_size [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Exp());
}

// Logarithm of the magnitude: log(|x| + 1e-30).
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct Log {
    float operator()(float x) const { return log(fabs(x) + 1e-30f); }
};

kernel void log_f32(device const float *x [[buffer(0)]],
                    device float *y [[buffer(1)]],
                    constant uint &n [[buffer(2)]],
                    constant uint &grid_size [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
    each_of_one(x, y, n, i, grid_size, Log());
}

// A matrix times a number.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct MatrixScale {
    float scale;
    float operator()(float a) const { return a * scale; }
};

kernel void matrix_scale_f32(device const float *a [[buffer(0)]],
                             device float *c [[buffer(1)]],
                             constant uint &n [[buffer(2)]],
                             constant float &scale [[buffer(3)]],
                             uint i [[thread_position_in_grid]],
                             uint grid_size [[threads_per_grid]]) {
    each_of_one(a, c, n, i, grid_size, MatrixScale{scale});
}

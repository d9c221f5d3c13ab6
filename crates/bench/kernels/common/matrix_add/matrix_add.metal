// Sum of two matrices.
#include <metal_stdlib>
using namespace metal;
#include "elementwise.h"

struct MatrixAdd {
    float operator()(float a, float b) const { return a + b; }
};

kernel void matrix_add_f32(device const float *a [[buffer(0)]],
                           device const float *b [[buffer(1)]],
                           device float *c [[buffer(2)]],
                           constant uint &n [[buffer(3)]],
                           uint i [[thread_position_in_grid]],
                           uint grid_size [[threads_per_grid]]) {
    each_of_two(a, b, c, n, i, grid_size, MatrixAdd());
}

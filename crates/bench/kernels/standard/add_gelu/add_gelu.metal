// gelu(x + a), in the form with tanh.
#include <metal_stdlib>
using namespace metal;
#include "activation.h"
#include "elementwise.h"

struct AddGelu {
    float operator()(float x, float a) const { return gelu_tanh(x + a); }
};

kernel void add_gelu_f32(device const float *x [[buffer(0)]],
                         device const float *a [[buffer(1)]],
                         device float *y [[buffer(2)]],
                         constant uint &n [[buffer(3)]],
                         uint i [[thread_position_in_grid]],
                         uint grid_size [[threads_per_grid]]) {
    each_of_two(x, a, y, n, i, grid_size, AddGelu());
}

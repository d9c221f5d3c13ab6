#include <metal_stdlib>
using namespace metal;

kernel void twice(device float *x, uint i [[thread_position_in_grid]]) {
    x[i] *= 2;
}

kernel void half_of(device float *x, uint i [[thread_position_in_grid]]) {
    x[i] /= 2;
}

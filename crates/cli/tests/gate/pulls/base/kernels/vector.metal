#include <metal_stdlib>
#include "common.h"
using namespace metal;

kernel void axpy(device const float *x [[buffer(0)]], device float *y [[buffer(1)]], constant float &a [[buffer(2)]],
                 constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i >= n)
        return;
    y[i] = a * x[i] + y[i];
}

kernel void difference(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
                       device float *c [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    c[i] = a[i] - b[i];
}

kernel void relu(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    y[i] = activate(x[i]);
}

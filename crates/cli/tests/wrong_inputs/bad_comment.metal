#include <metal_stdlib>
using namespace metal;

// assay: launch copy --gird 64
kernel void copy(device const float *x, device float *y, uint i [[thread_position_in_grid]]) {
    y[i] = x[i];
}

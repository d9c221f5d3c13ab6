#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device float *y, device const float *x, constant float &a, constant uint &n,
                  uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

#include <metal_stdlib>
using namespace metal;

// assay: launch unbounded --size N=100 --grid 128 --threadgroup 32 --arg x=random:N --arg y=zeros:N
kernel void unbounded(device const float *x, device float *y, uint i [[thread_position_in_grid]]) {
    y[i] = x[i];
}

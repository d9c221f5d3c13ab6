#include <metal_stdlib>
using namespace metal;

// assay: launch twice --grid 64 --threadgroup 64 --arg y=iota:64
kernel void twice(device float *y, uint i [[thread_position_in_grid]]) {
    y[i] = 2 * y[i];
}

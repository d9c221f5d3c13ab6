#include <metal_stdlib>
using namespace metal;

kernel void broken(device float *x, uint i [[thread_position_in_grid]]) {
    x[i] = undeclared;
}

// The smallest useful kernel: one load, one maximum, one store.
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float *x [[buffer(0)]],
                 device float *o [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    o[i] = max(x[i], 0.0f);
}

// Roots by Newton's method, with a barrier in every turn.
#include <metal_stdlib>
using namespace metal;

kernel void newton(device float *y, device const float *x, uint i [[thread_position_in_grid]]) {
    float v = x[i] + 1.0f, r = 1.0f;
    for (uint k = 0; k < 32; k++) {
        r = 0.5f * (r + v / r);
        threadgroup_barrier(mem_flags::mem_device); // fault: needless-barriers
    }
    y[i] = r;
}

// assay: launch newton --size N=131072 --grid N --threadgroup 512 --arg y=zeros:f32:N --arg x=random:f32:N

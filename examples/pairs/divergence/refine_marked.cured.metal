// One element in eight is refined, by the lane that has it. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void refine(device float *y, device const float *x, uint i [[thread_position_in_grid]]) {
    float v = x[i * 8];
    for (uint k = 0; k < 64; k++) v = fma(v, v, -0.2f) + 0.01f * rsqrt(v * v + 1.0f);
    y[i * 8] = v;
}

// assay: launch refine --size N=1048576 --grid N/8 --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N

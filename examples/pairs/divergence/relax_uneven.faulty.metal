// Elements take between 1 and 64 turns, neighbours very different ones.
#include <metal_stdlib>
using namespace metal;

kernel void relax(device float *y, device const float *x, constant uint &most, uint i [[thread_position_in_grid]]) {
    uint trips = 1 + (i * 37u) % most;
    float v = x[i];
    for (uint k = 0; k < trips; k++) // fault: divergence
        v = fma(v, 0.999f, sin(v) * 0.01f);
    y[i] = v;
}

// assay: launch relax --size N=131072 --grid N --threadgroup 128 --arg y=zeros:f32:N --arg x=random:f32:N --arg most=64

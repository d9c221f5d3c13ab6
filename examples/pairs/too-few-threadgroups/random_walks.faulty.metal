// Random walks, 512 of 16,384 steps.
#include <metal_stdlib>
using namespace metal;

kernel void walk(device float *ends, constant uint &steps, uint i [[thread_position_in_grid]]) { // fault: too-few-threadgroups
    uint state = i * 747796405u + 1u;
    float at = 0;
    for (uint k = 0; k < steps; k++) {
        state = state * 1664525u + 1013904223u;
        at += float(state >> 9) * 0x1p-23f - 0.5f;
    }
    ends[i] = at;
}

// assay: launch walk --grid 512 --threadgroup 64 --arg ends=zeros:f32:512 --arg steps=16384

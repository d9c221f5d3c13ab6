// Four activations, dealt to lanes in turn. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void activate(device float *y, device const float *x, constant uint &shift, uint i [[thread_position_in_grid]]) {
    float v = x[i];
    switch ((i >> shift) & 3) {
        case 0: for (uint k = 0; k < 12; k++) v = tanh(v) + 0.1f; break;
        case 1: for (uint k = 0; k < 12; k++) v = exp(-v * v) + 0.1f; break;
        case 2: for (uint k = 0; k < 12; k++) v = log(1.0f + fabs(v)) + 0.1f; break;
        default: for (uint k = 0; k < 12; k++) v = sin(v) * 0.9f; break;
    }
    y[i] = v;
}

// assay: launch activate --size N=131072 --grid N --threadgroup 256 --arg y=zeros:f32:N --arg x=random:f32:N --arg shift=5

// A power series with a threadgroup for each element. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void series(device float *y, device const float *x, uint i [[thread_position_in_grid]]) {
    float v = x[i], sum = 1.0f, term = 1.0f;
    for (uint k = 1; k < 40; k++) {
        term *= v / float(k);
        sum += term;
    }
    y[i] = sum;
}

// assay: launch series --size N=65536 --grid N --threadgroup 128 --arg y=zeros:f32:N --arg x=random:f32:N

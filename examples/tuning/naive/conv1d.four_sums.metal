// Convolution of a long signal: four sums, and what is left over.
#include <metal_stdlib>
using namespace metal;

kernel void conv1d(device float *y, device const float *x, device const float *w, constant uint &n, constant uint &taps, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float4 sum = 0;
    uint k = 0;
    for (; k + 4 <= taps; k += 4) {
        sum.x += w[k] * x[i + k];
        sum.y += w[k + 1] * x[i + k + 1];
        sum.z += w[k + 2] * x[i + k + 2];
        sum.w += w[k + 3] * x[i + k + 3];
    }
    float rest = 0;
    for (; k < taps; k++) rest += w[k] * x[i + k];
    y[i] = sum.x + sum.y + sum.z + sum.w + rest;
}

// assay: launch conv1d --size N=65536 --size K=64 --grid N --threadgroup 64 --arg y=zeros:f32:N --arg x=random:f32:N+K-1 --arg w=random:f32:K --arg n=N --arg taps=K

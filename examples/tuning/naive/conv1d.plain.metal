// Convolution of a long signal: a thread a result.
#include <metal_stdlib>
using namespace metal;

kernel void conv1d(device float *y, device const float *x, device const float *w, constant uint &n, constant uint &taps, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float sum = 0;
    for (uint k = 0; k < taps; k++) sum += w[k] * x[i + k];
    y[i] = sum;
}

// assay: launch conv1d --size N=65536 --size K=64 --grid N --threadgroup 64 --arg y=zeros:f32:N --arg x=random:f32:N+K-1 --arg w=random:f32:K --arg n=N --arg taps=K

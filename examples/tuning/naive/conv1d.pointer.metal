// Convolution of a long signal: two pointers walk along.
#include <metal_stdlib>
using namespace metal;

kernel void conv1d(device float *y, device const float *x, device const float *w, constant uint &n, constant uint &taps, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    device const float *tap = w, *from = x + i, *end = w + taps;
    float sum = 0;
    while (tap < end) sum += *tap++ * *from++;
    y[i] = sum;
}

// assay: launch conv1d --size N=65536 --size K=64 --grid N --threadgroup 64 --arg y=zeros:f32:N --arg x=random:f32:N+K-1 --arg w=random:f32:K --arg n=N --arg taps=K

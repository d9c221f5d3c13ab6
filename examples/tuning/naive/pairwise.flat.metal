// Squared distance of all pairs of rows: one index for a pair, taken apart.
#include <metal_stdlib>
using namespace metal;

kernel void pairwise(device float *y, device const float *a, device const float *b, constant uint &m, constant uint &n, constant uint &k, uint i [[thread_position_in_grid]]) {
    if (i >= m * n) return;
    uint row = i / n, column = i % n;
    float sum = 0;
    uint at = row * k, to = column * k;
    const uint end = at + k;
    while (at < end) {
        float d = a[at++] - b[to++];
        sum += d * d;
    }
    y[i] = sum;
}

// assay: launch pairwise --size M=512 --size N=512 --size K=64 --grid M*N --threadgroup 256 --arg y=zeros:f32:M*N --arg a=random:f32:M*K --arg b=random:f32:N*K --arg m=M --arg n=N --arg k=K

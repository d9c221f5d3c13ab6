// Squared distance of all pairs of rows: a thread a row, all of its pairs.
#include <metal_stdlib>
using namespace metal;

kernel void pairwise(device float *y, device const float *a, device const float *b, constant uint &m, constant uint &n, constant uint &k, uint row [[thread_position_in_grid]]) {
    if (row >= m) return;
    for (uint column = 0; column < n; column++) {
        float sum = 0;
        for (uint i = 0; i < k; i++) {
            float d = a[row * k + i] - b[column * k + i];
            sum += d * d;
        }
        y[row * n + column] = sum;
    }
}

// assay: launch pairwise --size M=512 --size N=512 --size K=64 --grid M --threadgroup 64 --arg y=zeros:f32:M*N --arg a=random:f32:M*K --arg b=random:f32:N*K --arg m=M --arg n=N --arg k=K

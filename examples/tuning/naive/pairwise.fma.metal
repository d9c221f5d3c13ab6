// Squared distance of all pairs of rows: pointers, from the last number to the first, fma.
#include <metal_stdlib>
using namespace metal;

kernel void pairwise(device float *y, device const float *a, device const float *b, constant uint &m, constant uint &n, constant uint &k, uint2 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= m) return;
    device const float *p = a + at.y * k;
    device const float *q = b + at.x * k;
    float sum = 0;
    for (uint i = k; i > 0; i--) {
        float d = abs(p[i - 1] - q[i - 1]);
        sum = fma(d, d, sum);
    }
    y[at.y * n + at.x] = sum;
}

// assay: launch pairwise --size M=512 --size N=512 --size K=64 --grid N,M --threadgroup 16,16 --arg y=zeros:f32:M*N --arg a=random:f32:M*K --arg b=random:f32:N*K --arg m=M --arg n=N --arg k=K

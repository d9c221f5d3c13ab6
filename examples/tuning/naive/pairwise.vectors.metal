// Squared distance of all pairs of rows: four numbers a round, K a multiple of four.
#include <metal_stdlib>
using namespace metal;

kernel void pairwise(device float *y, device const float *a, device const float *b, constant uint &m, constant uint &n, constant uint &k, uint2 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= m) return;
    device const float4 *p = (device const float4 *)(a + at.y * k);
    device const float4 *q = (device const float4 *)(b + at.x * k);
    float4 sum = 0;
    for (uint i = 0; i < k / 4; i++) {
        float4 d = p[i] - q[i];
        sum += d * d;
    }
    y[at.y * n + at.x] = sum.x + sum.y + sum.z + sum.w;
}

// assay: launch pairwise --size M=512 --size N=512 --size K=64 --grid N,M --threadgroup 16,16 --arg y=zeros:f32:M*N --arg a=random:f32:M*K --arg b=random:f32:N*K --arg m=M --arg n=N --arg k=K

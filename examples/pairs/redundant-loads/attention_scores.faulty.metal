// Scores of queries against keys of 256 numbers, the loudest of each.
#include <metal_stdlib>
using namespace metal;

kernel void scores(device float *s, device const float *q, device const float *keys, constant uint &n,
                   uint2 at [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < 256; k++)
        sum += max(q[at.y * 256 + k] * keys[k * n + at.x], 0.0f); // fault: redundant-loads
    s[at.y * n + at.x] = sum;
}

// assay: launch scores --size N=768 --grid N,N --threadgroup 32,32 --arg s=zeros:f32:N*N --arg q=random:f32:N*256 --arg keys=random:f32:N*256 --arg n=N

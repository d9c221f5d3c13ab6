// Scores of queries against keys of 256 numbers, the loudest of each. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void scores(device float *s, device const float *q, device const float *keys, constant uint &n,
                   uint2 at [[thread_position_in_grid]], uint2 in [[thread_position_in_threadgroup]]) {
    threadgroup float left[32][32], right[32][32];
    float sum = 0;
    for (uint k = 0; k < 256; k += 32) {
        left[in.y][in.x] = q[at.y * 256 + k + in.x];
        right[in.y][in.x] = keys[(k + in.y) * n + at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 32; i++) sum += max(left[in.y][i] * right[i][in.x], 0.0f);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    s[at.y * n + at.x] = sum;
}

// assay: launch scores --size N=768 --grid N,N --threadgroup 32,32 --arg s=zeros:f32:N*N --arg q=random:f32:N*256 --arg keys=random:f32:N*256 --arg n=N

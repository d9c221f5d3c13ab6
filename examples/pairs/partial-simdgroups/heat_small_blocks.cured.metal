// Heat in three dimensions in blocks of 2 × 2 × 2. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void heat(device float *next, device const float *now, constant uint &n, uint3 at [[thread_position_in_grid]]) {
    if (any(at == 0) || any(at + 1 >= n)) return;
    uint i = (at.z * n + at.y) * n + at.x;
    float around = now[i - 1] + now[i + 1] + now[i - n] + now[i + n] + now[i - n * n] + now[i + n * n];
    next[i] = now[i] + 0.1f * (around - 6.0f * now[i]);
}

// assay: launch heat --size N=128 --grid N,N,N --threadgroup 32,4,2 --arg next=zeros:f32:N*N*N --arg now=random:f32:N*N*N --arg n=N

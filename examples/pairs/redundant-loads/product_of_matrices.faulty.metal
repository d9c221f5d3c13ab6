// Product of matrices; every thread loads its row and its column.
#include <metal_stdlib>
using namespace metal;

kernel void product(device float *c, device const float *a, device const float *b, constant uint &n,
                    uint2 at [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < n; k++)
        sum += a[at.y * n + k] * b[k * n + at.x]; // fault: redundant-loads
    c[at.y * n + at.x] = sum;
}

// assay: launch product --size N=512 --grid N,N --threadgroup 32,32 --arg c=zeros:f32:N*N --arg a=random:f32:N*N --arg b=random:f32:N*N --arg n=N

// Product of matrices; every thread loads its row and its column. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void product(device float *c, device const float *a, device const float *b, constant uint &n,
                    uint2 at [[thread_position_in_grid]], uint2 in [[thread_position_in_threadgroup]]) {
    threadgroup float left[32][32], right[32][32];
    float sum = 0;
    for (uint k = 0; k < n; k += 32) {
        left[in.y][in.x] = a[at.y * n + k + in.x];
        right[in.y][in.x] = b[(k + in.y) * n + at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 32; i++) sum += left[in.y][i] * right[i][in.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[at.y * n + at.x] = sum;
}

// assay: launch product --size N=512 --grid N,N --threadgroup 32,32 --arg c=zeros:f32:N*N --arg a=random:f32:N*N --arg b=random:f32:N*N --arg n=N

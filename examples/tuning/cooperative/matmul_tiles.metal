// Product of matrices by tiles of 16, a result a thread.
#include <metal_stdlib>
using namespace metal;

kernel void matmul_tiles(device float *y, device const float *a, device const float *b, constant uint &n, uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float left[16][16], right[16][16];
    uint row = group.y * 16 + at.y, column = group.x * 16 + at.x;
    float sum = 0;
    for (uint k = 0; k < n; k += 16) {
        left[at.y][at.x] = a[row * n + k + at.x];
        right[at.y][at.x] = b[(k + at.y) * n + column];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 16; i++) sum += left[at.y][i] * right[i][at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[row * n + column] = sum;
}

// assay: launch matmul_tiles --size N=256 --grid N,N --threadgroup 16,16 --arg y=zeros:f32:N*N --arg a=random:f32:N*N --arg b=random:f32:N*N --arg n=N

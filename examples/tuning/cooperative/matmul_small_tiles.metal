// Product of matrices by tiles of 8: threadgroups of 64.
#include <metal_stdlib>
using namespace metal;

kernel void matmul_small_tiles(device float *y, device const float *a, device const float *b, constant uint &n, uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float left[8][8], right[8][8];
    uint row = group.y * 8 + at.y, column = group.x * 8 + at.x;
    float sum = 0;
    for (uint k = 0; k < n; k += 8) {
        left[at.y][at.x] = a[row * n + k + at.x];
        right[at.x][at.y] = b[(k + at.y) * n + column];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 8; i++) sum += left[at.y][i] * right[at.x][i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[row * n + column] = sum;
}

// assay: launch matmul_small_tiles --size N=256 --grid N,N --threadgroup 8,8 --arg y=zeros:f32:N*N --arg a=random:f32:N*N --arg b=random:f32:N*N --arg n=N

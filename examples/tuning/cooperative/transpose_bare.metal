// Transpose by a tile without padding.
#include <metal_stdlib>
using namespace metal;

kernel void transpose_bare(device float *y, device const float *x, constant uint &n, uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][32];
    for (uint r = at.y; r < 32; r += 8) tile[r][at.x] = x[(group.y * 32 + r) * n + group.x * 32 + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = at.y; r < 32; r += 8) y[(group.x * 32 + r) * n + group.y * 32 + at.x] = tile[at.x][r];
}

// assay: launch transpose_bare --size N=512 --groups N/32,N/32 --threadgroup 32,8 --arg y=zeros:f32:N*N --arg x=random:f32:N*N --arg n=N

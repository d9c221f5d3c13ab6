// Transpose through a tile of threadgroup memory whose columns lie in one bank.
#include <metal_stdlib>
using namespace metal;

kernel void transpose_tile(device float *y, device const float *x, constant uint &n,
                           uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][32];
    for (uint k = 0; k < 32; k += 8)
        tile[at.y + k][at.x] = x[(group.y * 32 + at.y + k) * n + group.x * 32 + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 32; k += 8)
        y[(group.x * 32 + at.y + k) * n + group.y * 32 + at.x] = tile[at.x][at.y + k]; // fault: bank-conflicts
}

// assay: launch transpose_tile --size N=512 --grid N,N/4 --threadgroup 32,8 --arg y=zeros:f32:N*N --arg x=random:f32:N*N --arg n=N

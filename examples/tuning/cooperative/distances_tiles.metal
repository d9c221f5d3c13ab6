// Distances of rows by tiles that neighbouring threads read a column of.
#include <metal_stdlib>
using namespace metal;

kernel void distances_tiles(device float *y, device const float *a, device const float *b, constant uint &n,
                            constant uint &k, uint2 group [[threadgroup_position_in_grid]], uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float left[16][16], right[16][16];
    uint row = group.y * 16 + at.y, column = group.x * 16 + at.x;
    float sum = 0;
    for (uint first = 0; first < k; first += 16) {
        left[at.y][at.x] = a[row * k + first + at.x];
        right[at.y][at.x] = b[(group.x * 16 + at.y) * k + first + at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 16; i++) {
            float d = left[at.y][i] - right[at.x][i];
            sum += d * d;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[row * n + column] = sum;
}

// assay: launch distances_tiles --size N=256 --size K=64 --grid N,N --threadgroup 16,16 --arg y=zeros:f32:N*N --arg a=random:f32:N*K --arg b=random:f32:N*K --arg n=N --arg k=K

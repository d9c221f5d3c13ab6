// Distances between two sets of 512-dimensional points. Cured.
#include <metal_stdlib>
using namespace metal;

kernel void distances(device float *d, device const float *a, device const float *b, constant uint &n,
                      uint2 at [[thread_position_in_grid]], uint2 in [[thread_position_in_threadgroup]]) {
    threadgroup float left[32][32], right[32][32];
    float sum = 0;
    for (uint k = 0; k < 512; k += 32) {
        left[in.y][in.x] = a[at.y * 512 + k + in.x];
        right[in.y][in.x] = b[(k + in.y) * n + at.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 32; i++) {
            float e = left[in.y][i] - right[i][in.x];
            sum += e * e;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    d[at.y * n + at.x] = sum;
}

// assay: launch distances --size N=512 --grid N,N --threadgroup 32,32 --arg d=zeros:f32:N*N --arg a=random:f32:N*512 --arg b=random:f32:N*512 --arg n=N

// Distances between two sets of 512-dimensional points.
#include <metal_stdlib>
using namespace metal;

kernel void distances(device float *d, device const float *a, device const float *b, constant uint &n,
                      uint2 at [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < 512; k++) {
        float e = a[at.y * 512 + k] - b[k * n + at.x]; // fault: redundant-loads
        sum += e * e;
    }
    d[at.y * n + at.x] = sum;
}

// assay: launch distances --size N=512 --grid N,N --threadgroup 32,32 --arg d=zeros:f32:N*N --arg a=random:f32:N*512 --arg b=random:f32:N*512 --arg n=N

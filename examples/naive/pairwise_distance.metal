// Squared distances of all pairs of rows: a thread per pair.
#include <metal_stdlib>
using namespace metal;

kernel void pairwise_distance(device float *d [[buffer(0)]],
                              device const float *a [[buffer(1)]],
                              device const float *b [[buffer(2)]],
                              constant uint &m [[buffer(3)]],
                              constant uint &n [[buffer(4)]],
                              constant uint &k [[buffer(5)]],
                              uint2 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= m) return;
    float sum = 0;
    for (uint i = 0; i < k; i++) {
        float e = a[at.y * k + i] - b[at.x * k + i];
        sum += e * e;
    }
    d[at.y * n + at.x] = sum;
}

// assay: launch pairwise_distance --size M=1024 --size N=1024 --size K=64 --grid N,M --threadgroup 16,16 --buffer 0=zeros:f32:M*N --buffer 1=random:f32:M*K --buffer 2=random:f32:N*K --bytes 3=u32:M --bytes 4=u32:N --bytes 5=u32:K

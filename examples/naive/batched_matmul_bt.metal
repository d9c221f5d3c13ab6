// Products of many small matrices, the second transposed: a thread per result.
#include <metal_stdlib>
using namespace metal;

kernel void batched_matmul_bt(device float *c [[buffer(0)]],
                              device const float *a [[buffer(1)]],
                              device const float *b [[buffer(2)]],
                              constant uint &m [[buffer(3)]],
                              constant uint &n [[buffer(4)]],
                              constant uint &k [[buffer(5)]],
                              uint3 at [[thread_position_in_grid]]) {
    if (at.x >= n || at.y >= m) return;
    float sum = 0;
    for (uint i = 0; i < k; i++) sum += a[(at.z * m + at.y) * k + i] * b[(at.z * n + at.x) * k + i];
    c[(at.z * m + at.y) * n + at.x] = sum;
}

// assay: launch batched_matmul_bt --size B=16 --size M=128 --size N=128 --size K=128 --grid N,M,B --threadgroup 16,16,1 --buffer 0=zeros:f32:B*M*N --buffer 1=random:f32:B*M*K --buffer 2=random:f32:B*N*K --bytes 3=u32:M --bytes 4=u32:N --bytes 5=u32:K

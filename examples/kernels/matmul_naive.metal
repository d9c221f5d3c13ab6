// One thread, one element: every operand comes from memory in the inner loop.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void matmul_naive(device float *C [[buffer(0)]],
                         device const float *A [[buffer(1)]],
                         device const float *B [[buffer(2)]],
                         constant uint &M [[buffer(3)]],
                         constant uint &N [[buffer(4)]],
                         constant uint &K [[buffer(5)]],
                         uint2 g [[thread_position_in_grid]]) {
    uint row = g.y, col = g.x;
    if (row >= M || col >= N) {
        return;
    }
    float acc = 0.0f;
    for (uint k = 0; k < K; ++k) {
        acc += A[row * K + k] * B[k * N + col];
    }
    C[row * N + col] = acc;
}

// assay: launch matmul_naive --size M=1024 --size N=1024 --size K=1024 --grid N,M --threadgroup 16,16 --buffer 0=zeros:f32:M*N --buffer 1=random:f32:M*K --buffer 2=random:f32:K*N --bytes 3=u32:M --bytes 4=u32:N --bytes 5=u32:K

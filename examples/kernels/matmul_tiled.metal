// 16 by 16 tiles in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void matmul_tiled(device float *C [[buffer(0)]],
                         device const float *A [[buffer(1)]],
                         device const float *B [[buffer(2)]],
                         constant uint &M [[buffer(3)]],
                         constant uint &N [[buffer(4)]],
                         constant uint &K [[buffer(5)]],
                         uint2 l [[thread_position_in_threadgroup]],
                         uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup float sa[16][16];
    threadgroup float sb[16][17];
    uint row = group.y * 16 + l.y, col = group.x * 16 + l.x;
    float acc = 0.0f;
    for (uint t = 0; t < K; t += 16) {
        sa[l.y][l.x] = A[row * K + t + l.x];
        sb[l.y][l.x] = B[(t + l.y) * N + col];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 16; ++k) {
            acc = fma(sa[l.y][k], sb[k][l.x], acc);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    C[row * N + col] = acc;
}

// assay: launch matmul_tiled --size M=1024 --size N=1024 --size K=1024 --grid N,M --threadgroup 16,16 --buffer 0=zeros:f32:M*N --buffer 1=random:f32:M*K --buffer 2=random:f32:K*N --bytes 3=u32:M --bytes 4=u32:N --bytes 5=u32:K

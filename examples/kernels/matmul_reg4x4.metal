// 64 by 64 tiles, a 4 by 4 block of results in registers per thread.
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void matmul_reg4x4(device float *C [[buffer(0)]],
                          device const float *A [[buffer(1)]],
                          device const float *B [[buffer(2)]],
                          constant uint &N [[buffer(3)]],
                          constant uint &K [[buffer(4)]],
                          uint2 l [[thread_position_in_threadgroup]],
                          uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup float sa[16][64];
    threadgroup float sb[16][64];
    uint tid = l.y * 16 + l.x;
    float acc[4][4];
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            acc[i][j] = 0.0f;
        }
    }
    for (uint t = 0; t < K; t += 16) {
        for (uint s = 0; s < 4; ++s) {
            uint e = tid + s * 256;
            sa[e & 15][e >> 4] = A[(group.y * 64 + (e >> 4)) * K + t + (e & 15)];
            sb[e >> 6][e & 63] = B[(t + (e >> 6)) * N + group.x * 64 + (e & 63)];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 16; ++k) {
            float a[4], b[4];
            for (int i = 0; i < 4; ++i) a[i] = sa[k][l.y * 4 + i];
            for (int j = 0; j < 4; ++j) b[j] = sb[k][l.x * 4 + j];
            for (int i = 0; i < 4; ++i) {
                for (int j = 0; j < 4; ++j) {
                    acc[i][j] = fma(a[i], b[j], acc[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
            C[(group.y * 64 + l.y * 4 + i) * N + group.x * 64 + l.x * 4 + j] = acc[i][j];
        }
    }
}

// assay: launch matmul_reg4x4 --size M=1024 --size N=1024 --size K=1024 --grid N/4,M/4 --threadgroup 16,16 --buffer 0=zeros:f32:M*N --buffer 1=random:f32:M*K --buffer 2=random:f32:K*N --bytes 3=u32:N --bytes 4=u32:K

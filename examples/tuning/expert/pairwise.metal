// Squared distance of all pairs of rows: 64 by 64 pairs a threadgroup, four by four a thread.
#include <metal_stdlib>
using namespace metal;

kernel void pairwise(device float *y, device const float *a, device const float *b, constant uint &m, constant uint &n,
                     constant uint &k, uint2 group [[threadgroup_position_in_grid]],
                     uint2 at [[thread_position_in_threadgroup]]) {
    threadgroup float left[16][65], right[16][65];
    uint tid = at.y * 16 + at.x, top = group.y * 64, from = group.x * 64;
    float sum[4][4] = {{0}};
    for (uint first = 0; first < k; first += 16) {
        for (uint i = tid; i < 1024; i += 256) {
            uint r = i / 16, c = i % 16;
            bool wide = first + c < k;
            left[c][r] = wide && top + r < m ? a[(top + r) * k + first + c] : 0.0f;
            right[c][r] = wide && from + r < n ? b[(from + r) * k + first + c] : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint c = 0; c < 16; c++) {
            float p[4], q[4];
            for (uint i = 0; i < 4; i++) {
                p[i] = left[c][at.y + i * 16];
                q[i] = right[c][at.x + i * 16];
            }
            for (uint i = 0; i < 4; i++)
                for (uint j = 0; j < 4; j++) {
                    float d = p[i] - q[j];
                    sum[i][j] += d * d;
                }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) {
            uint row = top + at.y + i * 16, column = from + at.x + j * 16;
            if (row < m && column < n) y[row * n + column] = sum[i][j];
        }
}

// assay: launch pairwise --size M=512 --size N=512 --size K=64 --groups ceil_div(N,64),ceil_div(M,64) --threadgroup 16,16 --arg y=zeros:f32:M*N --arg a=random:f32:M*K --arg b=random:f32:N*K --arg m=M --arg n=N --arg k=K

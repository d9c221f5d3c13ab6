// Eight simdgroups with a row each, which wait for each other in every turn.
#include <metal_stdlib>
using namespace metal;

kernel void rows_times_own(device float *y, device const float *m, device const float *v, constant uint &n,
                           uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                           uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float held[8][32];
    float sum = 0;
    for (uint k = 0; k < n; k += 32) {
        held[sg][lane] = m[(row * 8 + sg) * n + k + lane] * v[k + lane];
        threadgroup_barrier(mem_flags::mem_threadgroup); // fault: needless-barriers
        sum += held[sg][lane ^ 1] - held[sg][lane ^ 16];
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
    sum = simd_sum(sum);
    if (lane == 0) y[row * 8 + sg] = sum;
}

// assay: launch rows_times_own --size R=128 --size N=1024 --grid R*256 --threadgroup 256 --arg y=zeros:f32:R*8 --arg m=random:f32:R*8*N --arg v=random:f32:N --arg n=N

// Sums of rows: every thread has a stretch of the row of its own.
#include <metal_stdlib>
using namespace metal;

kernel void sum_chunks(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[8];
    uint each = (columns + 255) / 256, end = min((tid + 1) * each, columns);
    float sum = 0;
    for (uint c = tid * each; c < end; c++) sum += x[row * columns + c];
    sum = simd_sum(sum);
    if (lane == 0) part[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        float all = 0;
        for (uint i = 0; i < 8; i++) all += part[i];
        y[row] = all;
    }
}

// assay: launch sum_chunks --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg columns=C

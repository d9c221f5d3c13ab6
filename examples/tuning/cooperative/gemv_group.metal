// Product of a matrix and a vector: a threadgroup a row, the vector staged in pieces.
#include <metal_stdlib>
using namespace metal;

kernel void gemv_group(device float *y, device const float *a, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float piece[256], part[256];
    float sum = 0;
    for (uint first = 0; first < columns; first += 256) {
        if (first + tid < columns) piece[tid] = x[first + tid];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (first + tid < columns) sum += a[row * columns + first + tid] * piece[tid];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    part[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        float all = 0;
        for (uint i = 0; i < 256; i++) all += part[i];
        y[row] = all;
    }
}

// assay: launch gemv_group --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R --arg a=random:f32:R*C --arg x=random:f32:C --arg columns=C

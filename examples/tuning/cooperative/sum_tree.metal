// Sums of rows: the usual tree.
#include <metal_stdlib>
using namespace metal;

kernel void sum_tree(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    float sum = 0;
    for (uint c = tid; c < columns; c += 256) sum += x[row * columns + c];
    part[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 128; s > 0; s >>= 1) {
        if (tid < s) part[tid] += part[tid + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) y[row] = part[0];
}

// assay: launch sum_tree --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg columns=C

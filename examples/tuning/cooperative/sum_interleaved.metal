// Sums of rows: a tree whose threads stand ever further apart.
#include <metal_stdlib>
using namespace metal;

kernel void sum_interleaved(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    float sum = 0;
    for (uint c = tid; c < columns; c += 256) sum += x[row * columns + c];
    part[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 1; s < 256; s *= 2) {
        if (tid % (2 * s) == 0) part[tid] += part[tid + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) y[row] = part[0];
}

// assay: launch sum_interleaved --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg columns=C

// Means of rows: the first thread adds what the others left.
#include <metal_stdlib>
using namespace metal;

kernel void mean_serial(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    float sum = 0;
    for (uint c = tid; c < columns; c += 256) sum += x[row * columns + c];
    part[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        float all = 0;
        for (uint i = 0; i < 256; i++) all += part[i];
        y[row] = all / float(columns);
    }
}

// assay: launch mean_serial --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg columns=C

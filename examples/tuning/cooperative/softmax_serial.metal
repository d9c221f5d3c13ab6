// Softmax of rows: the first thread finds the largest and the sum.
#include <metal_stdlib>
using namespace metal;

kernel void softmax_serial(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float most, sum;
    if (tid == 0) {
        float m = -INFINITY, s = 0;
        for (uint c = 0; c < columns; c++) m = max(m, x[row * columns + c]);
        for (uint c = 0; c < columns; c++) s += exp(x[row * columns + c] - m);
        most = m;
        sum = s;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = tid; c < columns; c += 256) y[row * columns + c] = exp(x[row * columns + c] - most) / sum;
}

// assay: launch softmax_serial --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg columns=C

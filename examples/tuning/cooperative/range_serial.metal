// Largest minus smallest of rows: the first thread looks through the others' results.
#include <metal_stdlib>
using namespace metal;

kernel void range_serial(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float low[256], high[256];
    float l = INFINITY, h = -INFINITY;
    for (uint c = tid; c < columns; c += 256) {
        l = min(l, x[row * columns + c]);
        h = max(h, x[row * columns + c]);
    }
    low[tid] = l;
    high[tid] = h;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        for (uint i = 1; i < 256; i++) {
            l = min(l, low[i]);
            h = max(h, high[i]);
        }
        y[row] = h - l;
    }
}

// assay: launch range_serial --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R --arg x=random:f32:R*C --arg columns=C

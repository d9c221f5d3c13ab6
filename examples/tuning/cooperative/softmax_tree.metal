// Softmax of rows: two trees, with a barrier more than they need.
#include <metal_stdlib>
using namespace metal;

kernel void softmax_tree(device float *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float part[256];
    float most = -INFINITY, sum = 0;
    for (uint c = tid; c < columns; c += 256) most = max(most, x[row * columns + c]);
    part[tid] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 128; s > 0; s /= 2) {
        if (tid < s) part[tid] = max(part[tid], part[tid + s]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    most = part[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = tid; c < columns; c += 256) sum += exp(x[row * columns + c] - most);
    part[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 128; s > 0; s /= 2) {
        if (tid < s) part[tid] += part[tid + s];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    sum = part[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint c = tid; c < columns; c += 256) y[row * columns + c] = exp(x[row * columns + c] - most) / sum;
}

// assay: launch softmax_tree --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:f32:R*C --arg x=random:f32:R*C --arg columns=C

// Where each row is largest: a tree of values and places.
#include <metal_stdlib>
using namespace metal;

kernel void argmax_tree(device uint *y, device const float *x, constant uint &columns, uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]]) {
    threadgroup float most[256];
    threadgroup uint place[256];
    float own = -INFINITY;
    uint at = 0;
    for (uint c = tid; c < columns; c += 256) {
        if (x[row * columns + c] > own) {
            own = x[row * columns + c];
            at = c;
        }
    }
    most[tid] = own;
    place[tid] = at;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint s = 128; s > 0; s /= 2) {
        if (tid < s && (most[tid + s] > most[tid] || (most[tid + s] == most[tid] && place[tid + s] < place[tid]))) {
            most[tid] = most[tid + s];
            place[tid] = place[tid + s];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (tid == 0) y[row] = place[0];
}

// assay: launch argmax_tree --size R=512 --size C=1024 --groups R --threadgroup 256 --arg y=zeros:u32:R --arg x=random:f32:R*C --arg columns=C

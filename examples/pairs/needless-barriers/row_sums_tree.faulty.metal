// Sums of rows of 64 by a tree of barriers.
#include <metal_stdlib>
using namespace metal;

kernel void row_sums(device float *y, device const float *x, uint row [[threadgroup_position_in_grid]],
                     uint tid [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float held[64];
    float v = x[row * 64 + tid], all = 0;
    for (uint turn = 0; turn < 8; turn++, v = v * 0.5f + 0.1f) {
    held[tid] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_ = 32; half_ > 0; half_ >>= 1) {
        if (tid < half_) held[tid] += held[tid + half_];
        threadgroup_barrier(mem_flags::mem_threadgroup); // fault: needless-barriers
    }
    all += held[0];
    }
    if (tid == 0) y[row] = all;
}

// assay: launch row_sums --size R=4096 --grid R*64 --threadgroup 64 --arg y=zeros:f32:R --arg x=random:f32:R*64

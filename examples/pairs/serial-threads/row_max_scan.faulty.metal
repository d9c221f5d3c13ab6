// The greatest of each row; thread 0 compares what all have found.
#include <metal_stdlib>
using namespace metal;

kernel void row_max(device float *best, device const float *x,
                    uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float held[512];
    float v = max(x[row * 1024 + tid], x[row * 1024 + 512 + tid]);
    held[tid] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid != 0) return; // fault: serial-threads
    for (uint i = 1; i < 512; i++)
        v = max(v, held[i]);
    best[row] = v;
}

// assay: launch row_max --size R=4096 --grid R*512 --threadgroup 512 --arg best=zeros:f32:R --arg x=random:f32:R*1024

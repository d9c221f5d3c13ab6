// Means of rows; thread 0 adds up the partial sums.
#include <metal_stdlib>
using namespace metal;

kernel void row_mean(device float *mean, device const float *x, constant uint &n,
                     uint row [[threadgroup_position_in_grid]], uint tid [[thread_position_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup float part[256];
    float sum = 0;
    for (uint i = tid; i < n; i += 256) sum += x[row * n + i];
    part[tid] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) { // fault: serial-threads
        float total = 0;
        for (uint i = 0; i < 256; i++) total += part[i];
        mean[row] = total / float(n);
    }
}

// assay: launch row_mean --size R=2048 --size N=1024 --grid R*256 --threadgroup 256 --arg mean=zeros:f32:R --arg x=random:f32:R*N --arg n=N
